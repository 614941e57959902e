//! The parent of the workers: starts them, sleeps, restarts one that dies, and passes a stop on.

mod worker;

use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use sys::epoll::{Epoll, Events, Interest};
use sys::process::terminate;

pub use worker::Recipe;
use worker::Worker;

/// Deaths of workers within [`DEATHS_WITHIN`] that are tolerated; more are taken for a fault that
/// recurs.
const MOST_DEATHS: usize = 5;
const DEATHS_WITHIN: Duration = Duration::from_secs(60);
/// Longest time between two processes hearing of one stop. A terminal tells all of us at once, and
/// a worker may be the first to hear it.
const TOLD_TOGETHER: Duration = Duration::from_secs(1);
/// Offset of the tokens of bells: the token of a bell is its place plus this.
const BELLS: u64 = 1 << 32;

/// Why the workers could not be kept running.
#[derive(Debug, thiserror::Error)]
pub enum SupervisorError {
    #[error("cannot start a worker on CPU {cpu}: {source}")]
    Start { cpu: usize, source: io::Error },
    #[error("{0} before it was ready; the others were stopped")]
    NotReady(Obituary),
    #[error(
        "{last}, the {deaths}th of the workers to do so within {} s; the others were stopped",
        DEATHS_WITHIN.as_secs()
    )]
    KeepDying { last: Obituary, deaths: usize },
    #[error("cannot watch the workers: {0}")]
    Watch(#[from] io::Error),
}

/// How a worker ended that nobody had told to stop.
#[derive(Debug, thiserror::Error)]
#[error("the worker on CPU {cpu} (process {pid}) ended on its own, {status}")]
pub struct Obituary {
    cpu: usize,
    pid: u32,
    status: ExitStatus,
}

/// Why a wait ended.
#[derive(Debug)]
pub enum Event {
    /// The bell at this place is readable.
    Rang(usize),
    /// A worker ended on its own, and was replaced by another.
    StartedAgain(Obituary),
}

/// The workers of one server. Dropping it kills those that still run.
pub struct Workers {
    recipes: Vec<Recipe>,
    /// In the order of the recipes.
    workers: Vec<Worker>,
    /// Workers that were replaced and that are finishing their answers.
    retiring: Vec<Worker>,
    recent_deaths: VecDeque<Instant>,
}

impl Workers {
    /// Starts one process of each recipe and returns when all are ready.
    ///
    /// # Errors
    /// When a process cannot be started or ends before it is ready.
    pub fn start(recipes: Vec<Recipe>) -> Result<Self, SupervisorError> {
        Ok(Self {
            workers: start_all(&recipes)?,
            recipes,
            retiring: Vec::new(),
            recent_deaths: VecDeque::new(),
        })
    }

    /// Sleeps until one of the bells is readable or a worker ends. A worker that ends on its own is
    /// started again.
    ///
    /// # Errors
    /// When too many have ended within a minute, or one cannot be started again.
    pub fn wait(&mut self, bells: &[BorrowedFd<'_>]) -> Result<Event, SupervisorError> {
        loop {
            let token = self.next_event(bells)?;
            let place = usize::try_from(token % BELLS).unwrap_or(0);
            if token >= BELLS {
                return Ok(Event::Rang(place));
            }
            if place >= self.workers.len() {
                self.retiring.remove(place - self.workers.len());
            } else if self.workers[place].ended_well()?
                && let Some(bell) = rings_soon(bells)?
            {
                return Ok(Event::Rang(bell));
            } else {
                return self.start_again(place).map(Event::StartedAgain);
            }
        }
    }

    fn next_event(&self, bells: &[BorrowedFd<'_>]) -> io::Result<u64> {
        let epoll = listen_for(bells)?;
        for (token, worker) in (0..).zip(self.workers.iter().chain(&self.retiring)) {
            epoll.add(worker.ended(), token, Interest::READ)?;
        }
        let mut events = Events::with_capacity(1);
        loop {
            epoll.wait(&mut events, None)?;
            if let Some(event) = events.iter().next() {
                return Ok(event.token);
            }
        }
    }

    fn start_again(&mut self, place: usize) -> Result<Obituary, SupervisorError> {
        let mut last = self.workers[place].obituary()?;
        loop {
            last = self.note_death(last)?;
            match start_all(&self.recipes[place..=place]) {
                Ok(again) => {
                    self.workers.splice(place..=place, again);
                    return Ok(last);
                }
                Err(SupervisorError::NotReady(next)) => last = next,
                Err(error) => return Err(error),
            }
        }
    }

    /// Records a death; fails if there were too many.
    fn note_death(&mut self, last: Obituary) -> Result<Obituary, SupervisorError> {
        let now = sys::clock::now();
        let is_old = |death: &Instant| now.duration_since(*death) > DEATHS_WITHIN;
        while self.recent_deaths.front().is_some_and(is_old) {
            self.recent_deaths.pop_front();
        }
        self.recent_deaths.push_back(now);
        let deaths = self.recent_deaths.len();
        if deaths > MOST_DEATHS {
            return Err(SupervisorError::KeepDying { last, deaths });
        }
        Ok(last)
    }

    /// Replaces all workers by new ones, by recipes for the same listeners. When the new ones are
    /// ready, the old ones finish their answers and end.
    ///
    /// # Errors
    /// When a worker cannot be started; the old workers then go on.
    pub fn replace(&mut self, recipes: Vec<Recipe>) -> Result<(), SupervisorError> {
        let next = start_all(&recipes)?;
        self.recipes = recipes;
        for old in std::mem::replace(&mut self.workers, next) {
            // A worker that has just died is waited for like the others.
            let _ = terminate(&old.child);
            self.retiring.push(old);
        }
        Ok(())
    }

    /// Tells all workers to stop. They have `drain_timeout` and a second more, and are killed then.
    ///
    /// # Errors
    /// `EMFILE` at the limit of open files.
    pub fn stop(mut self, drain_timeout: Duration) -> Result<(), SupervisorError> {
        // We let go of the listeners: from now on only the workers that drain have them.
        self.recipes.clear();
        let mut all: Vec<Worker> = self
            .workers
            .drain(..)
            .chain(self.retiring.drain(..))
            .collect();
        for worker in &mut all {
            // The process number of a worker that was waited for may belong to another process by
            // now.
            if let Ok(None) = worker.child.try_wait() {
                let _ = terminate(&worker.child);
            }
        }
        let deadline = sys::clock::now() + drain_timeout + Duration::from_secs(1);
        for worker in &all {
            wait_until(worker, deadline)?;
        }
        Ok(())
    }
}

fn listen_for(bells: &[BorrowedFd<'_>]) -> io::Result<Epoll> {
    let epoll = Epoll::new()?;
    for (token, bell) in (BELLS..).zip(bells) {
        epoll.add(*bell, token, Interest::READ)?;
    }
    Ok(epoll)
}

/// The bell that rings within [`TOLD_TOGETHER`], if one does.
fn rings_soon(bells: &[BorrowedFd<'_>]) -> io::Result<Option<usize>> {
    let rung = next_until(&listen_for(bells)?, sys::clock::now() + TOLD_TOGETHER)?;
    Ok(rung.and_then(|token| usize::try_from(token % BELLS).ok()))
}

/// Waits for the end of a worker, at most until `deadline`.
fn wait_until(worker: &Worker, deadline: Instant) -> io::Result<()> {
    let epoll = Epoll::new()?;
    epoll.add(worker.ended(), 0, Interest::READ)?;
    next_until(&epoll, deadline)?;
    Ok(())
}

/// Waits for the first event; returns its token, or `None` at the deadline. The signal that rings a
/// bell interrupts the wait before the bell rings, so we wait again.
fn next_until(epoll: &Epoll, deadline: Instant) -> io::Result<Option<u64>> {
    let mut events = Events::with_capacity(1);
    loop {
        let left = deadline.saturating_duration_since(sys::clock::now());
        let left_ns = u64::try_from(left.as_nanos()).unwrap_or(u64::MAX);
        epoll.wait(&mut events, Some(left_ns))?;
        let token = events.iter().next().map(|event| event.token);
        if token.is_some() || left.is_zero() {
            return Ok(token);
        }
    }
}

/// Starts all workers at once. The first one that does not start is reported, and the others end
/// with it.
fn start_all(recipes: &[Recipe]) -> Result<Vec<Worker>, SupervisorError> {
    let start = |recipe: &Recipe| {
        Worker::start(recipe).map_err(|source| SupervisorError::Start {
            cpu: recipe.cpu,
            source,
        })
    };
    let mut workers: Vec<Worker> = recipes.iter().map(start).collect::<Result<_, _>>()?;
    for worker in &mut workers {
        if !worker.says_ready()? {
            return Err(SupervisorError::NotReady(worker.obituary()?));
        }
    }
    Ok(workers)
}
