//! One thread of load: it waits, handles answers, sends requests, and stops when the block is over.

mod requests;

use std::io;

use model::Pace;
use sys::clock;

use super::carrier::{Carrier, Load};
use super::connections::{Connections, Stage};
use super::countdown::Countdown;
use super::free::FreeQueue;
use super::gate::{Gate, Passage};
use super::outcome::WorkerOutcome;
use super::plan::LoadPlan;
use super::recorder::{Edges, Recorder, Scoring};
use super::tally::Live;
use super::usage::Usage;
use super::{LoadError, Observer};
use crate::protocol::{Fate, Protocol};
use crate::schedule::Schedule;

/// How long answers are awaited after the block; a request without one by then is unfinished.
const GRACE_NS: u64 = 50_000_000;
/// A sleep ends this long before a request is due; the rest of the time is spent spinning, because
/// a sleeping thread is woken tens of µs late.
const SPIN_NS: u64 = 60_000;
/// A turn of the spinning loop that took longer was interrupted, and its time does not count as
/// spun.
const SPIN_TURN_MAX_NS: u64 = 20_000;

/// A worker that has no request left to begin checks at this interval whether the others are done.
const OTHERS_NS: u64 = 500_000;

/// The phase of a block that a worker is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Settling,
    Scoring,
    /// Nothing is sent any more; the last answers are awaited.
    Draining,
}

/// One thread of load and everything that it owns.
pub(super) struct Worker<'a, P: Protocol, C: Carrier> {
    plan: &'a LoadPlan,
    protocol: &'a P,
    connections: Connections<P::Exchange, C>,
    memory: P::Memory,
    recorder: Recorder<'a>,
    edges: Edges,
    phase: Phase,
    /// `None` in closed loop.
    schedule: Option<Schedule>,
    /// `None` where only time limits the number of requests.
    countdown: Option<&'a Countdown>,
    free: FreeQueue,
    next_sweep_ns: u64,
    /// Connections opened until the last sweep; one that was opened again counts again.
    opened_by_sweep: u64,
    spun_ns: u64,
    opened: Usage,
    closed: Usage,
}

impl<'a, P, C> Worker<'a, P, C>
where
    P: Protocol,
    C: Carrier<Request = P::Request, Input = P::Input>,
{
    /// Runs one thread from beginning to end. The first thread has the observer.
    pub(super) fn live(
        plan: &'a LoadPlan,
        protocol: &'a P,
        (index, live): (u32, &'a Live),
        gate: &Gate,
        mut observer: Option<&mut dyn Observer>,
    ) -> Result<WorkerOutcome<'a>, LoadError> {
        let prepared = Self::prepare(plan, protocol, index, live).and_then(|mut worker| {
            worker.open_connections().map_err(LoadError::Wait)?;
            Ok(worker)
        });
        let mut worker = match prepared {
            Ok(worker) => worker,
            Err(error) => {
                gate.break_off();
                return Err(error);
            }
        };
        if let Some(observer) = &mut observer {
            observer.is_connected();
        }
        let start_ns = worker.pass(gate)?;
        worker.begin(start_ns, index);
        worker.drive(gate, observer).map_err(LoadError::Wait)?;
        Ok(worker.finish())
    }

    fn prepare(
        plan: &'a LoadPlan,
        protocol: &'a P,
        index: u32,
        live: &'a Live,
    ) -> Result<Self, LoadError> {
        if let Some(cpu) = plan.cpu_of(index) {
            sys::cpu::pin(&[cpu]).map_err(|source| LoadError::Pin { cpu, source })?;
        }
        // If this fails, requests leave later, which shows in their lateness.
        let _ = sys::scheduling::set_timer_slack_ns(1);
        let connections = plan.connections_of(index);
        let streams = plan.streams();
        let numbers = plan.numbers_of(index);
        let numbers = numbers.start * streams..numbers.end * streams;
        let slots = numbers.len();
        let exchanges = numbers.map(|number| protocol.exchange(number));
        let load = Load {
            address: &plan.address,
            constant_request: protocol.constant_request(),
            connections,
            streams: streams as usize,
            pace: plan.pace,
            may_batch: plan.may_batch(),
            tls: plan.tls.as_ref(),
        };
        let connections = Connections::new(&load, exchanges).map_err(LoadError::Wait)?;
        let edges = Edges::default();
        Ok(Self {
            plan,
            protocol,
            connections,
            memory: protocol.memory(),
            recorder: Recorder::new(edges, Scoring::ByEnd, &live.tallies()[index as usize]),
            edges,
            phase: Phase::Draining,
            schedule: None,
            countdown: live.countdown(),
            free: FreeQueue::new(slots),
            next_sweep_ns: u64::MAX,
            opened_by_sweep: 0,
            spun_ns: 0,
            opened: Usage::default(),
            closed: Usage::default(),
        })
    }

    /// Opens all connections, or as many as the target accepts within the patience; the block
    /// begins without the others.
    fn open_connections(&mut self) -> io::Result<()> {
        let deadline_ns = clock::monotonic_ns() + C::PATIENCE_NS.min(self.plan.timeout_ns);
        loop {
            let now_ns = clock::monotonic_ns();
            self.connections.tend(now_ns);
            if now_ns >= deadline_ns || self.connections.open_count() == self.connections.len() {
                return Ok(());
            }
            let until_ns = deadline_ns.min(self.connections.next_opening_ns());
            let wait_ns = until_ns.saturating_sub(now_ns);
            self.connections.carrier.wait(wait_ns)?;
            while let Some((slot, news)) = self.connections.carrier.next() {
                self.handle(slot, news, clock::monotonic_ns());
            }
        }
    }

    fn pass(&self, gate: &Gate) -> Result<u64, LoadError> {
        // Count attempts that have not even failed yet.
        let tried = self.connections.counts().failed;
        let wanted = self.connections.len() as u64 / u64::from(self.plan.streams());
        let tried = tried.max(wanted);
        match gate.pass(self.connections.open_count() as u64, tried) {
            Passage::Start { start_ns } => Ok(start_ns),
            Passage::Broken => Err(LoadError::OtherThread),
            Passage::Nobody { attempts } => Err(LoadError::NobodyAccepted {
                address: self.plan.address.clone(),
                attempts,
                reason: self.connections.last_failure(),
            }),
        }
    }

    /// Sets the edges of the block and sends what is due on every connection.
    fn begin(&mut self, start_ns: u64, index: u32) {
        let open_ns = start_ns + self.plan.settle_ns;
        self.edges = Edges {
            start_ns,
            open_ns,
            close_ns: open_ns + self.plan.score_ns,
        };
        self.phase = Phase::Settling;
        self.next_sweep_ns = start_ns + self.sweep_gap_ns();
        if let Some(countdown) = self.countdown {
            countdown.begin(start_ns);
        }
        let mut scoring = Scoring::ByEnd;
        if let Pace::Open {
            rate_rps,
            arrivals,
            seed,
        } = self.plan.pace
        {
            scoring = Scoring::ByIntention;
            self.schedule = Some(Schedule::new(
                rate_rps,
                arrivals,
                seed,
                index,
                self.plan.threads,
            ));
        }
        self.recorder = Recorder::new(self.edges, scoring, self.recorder.tally);
        for slot in 0..self.connections.len() {
            if self.connections.stage(slot) == Stage::Idle {
                self.ready(slot, clock::monotonic_ns());
            }
        }
    }

    /// Runs the loop of the block: pass the edges, tend what needs care, send what is due, wait,
    /// and handle what came.
    fn drive(&mut self, gate: &Gate, mut observer: Option<&mut dyn Observer>) -> io::Result<()> {
        let mut now_ns = clock::monotonic_ns();
        loop {
            self.recorder.tick(now_ns);
            if observer.as_ref().is_some_and(|observer| observer.is_over()) {
                gate.cut_short(now_ns);
            }
            self.end_by(gate.cut_ns().min(self.over_ns()));
            self.pass_edges(now_ns, &mut observer);
            if self.is_done(now_ns) {
                return Ok(());
            }
            self.look_after(now_ns);
            self.send_due();
            now_ns = self.wait()?;
            while let Some((slot, news)) = self.connections.carrier.next() {
                self.handle(slot, news, now_ns);
            }
        }
    }

    /// Returns when the last of a limited number of requests ended; `u64::MAX` before.
    #[inline]
    fn over_ns(&self) -> u64 {
        self.countdown.map_or(u64::MAX, Countdown::over_ns)
    }

    /// Whether the number of requests is limited and all have been begun.
    #[inline]
    pub(super) fn is_spent(&self) -> bool {
        self.countdown.is_some_and(Countdown::is_spent)
    }

    /// Moves the edges to `cut_ns` where the block was cut short.
    fn end_by(&mut self, cut_ns: u64) {
        if cut_ns < self.edges.close_ns {
            self.edges.open_ns = self.edges.open_ns.min(cut_ns);
            self.edges.close_ns = cut_ns;
            self.recorder.set_edges(self.edges);
        }
    }

    /// Opens and closes the scored window. The observer's calls there are not scored.
    fn pass_edges(&mut self, now_ns: u64, observer: &mut Option<&mut dyn Observer>) {
        if self.phase == Phase::Settling && now_ns >= self.edges.open_ns {
            self.phase = Phase::Scoring;
            if let Some(observer) = observer {
                observer.window_opens();
            }
            self.recorder.open_window();
            self.opened = Usage::read(self.spun_ns);
        }
        if self.phase == Phase::Scoring && now_ns >= self.edges.close_ns {
            self.phase = Phase::Draining;
            // A window that never opened has no length, and no shares of it.
            self.closed = match self.recorder.window_ns() {
                0 => self.opened,
                _ => Usage::read(self.spun_ns),
            };
            self.recorder.close_window();
            self.connections.stop_opening();
            if let Some(observer) = observer {
                observer.window_closes();
            }
        }
    }

    fn is_done(&self, now_ns: u64) -> bool {
        self.phase == Phase::Draining
            && (!self.recorder.has_open_requests() || now_ns >= self.edges.close_ns + GRACE_NS)
    }

    /// Gives up on requests that took too long, and opens closed connections again.
    fn look_after(&mut self, now_ns: u64) {
        if now_ns >= self.next_sweep_ns {
            self.next_sweep_ns = now_ns + self.sweep_gap_ns();
            if let Some(countdown) = self.countdown {
                // A connection that is closed with each answer may be open only between two sweeps.
                let counts = self.connections.counts();
                let opened = counts.opened + counts.reopened;
                let before = std::mem::replace(&mut self.opened_by_sweep, opened);
                let had_connection = opened > before || self.connections.open_count() > 0;
                countdown.look_after(had_connection, now_ns, self.plan.timeout_ns);
            }
            for slot in 0..self.connections.len() {
                let connection = self.connections.at(slot);
                let since_ns = match self.plan.bulk {
                    true => connection.heard_ns,
                    false => connection.request.sent_ns,
                };
                let given_up_ns = since_ns + self.plan.timeout_ns;
                if connection.stage.has_request() && given_up_ns <= now_ns {
                    self.fail(slot, Fate::Timeout, now_ns);
                }
            }
        }
        if now_ns >= self.connections.next_opening_ns() {
            self.connections.tend(now_ns);
        }
    }

    fn sweep_gap_ns(&self) -> u64 {
        (self.plan.timeout_ns / 10).clamp(1_000_000, 100_000_000)
    }

    /// Returns when the next request of an open loop is due; `None` in closed loop and after the
    /// last.
    #[inline]
    fn due_ns(&self) -> Option<u64> {
        let due_ns = self.edges.start_ns + self.schedule.as_ref()?.due_ns();
        (due_ns < self.edges.close_ns && !self.is_spent()).then_some(due_ns)
    }

    /// Waits for an answer or for the next thing to do; returns the time.
    fn wait(&mut self) -> io::Result<u64> {
        let now_ns = clock::monotonic_ns();
        let (wait_ns, spins) = self.wait_time(now_ns);
        let has_events = self.connections.carrier.wait(wait_ns)?;
        let woken_ns = clock::monotonic_ns();
        if spins && !has_events {
            let turn_ns = woken_ns - now_ns;
            self.spun_ns += if turn_ns <= SPIN_TURN_MAX_NS {
                turn_ns
            } else {
                0
            };
        }
        Ok(woken_ns)
    }

    /// Returns how long to wait from `now_ns` on, and whether that is spinning.
    fn wait_time(&self, now_ns: u64) -> (u64, bool) {
        let edge_ns = match self.phase {
            Phase::Settling => self.edges.open_ns,
            Phase::Scoring => self.edges.close_ns,
            Phase::Draining => self.edges.close_ns + GRACE_NS,
        };
        let edge_ns = match self.is_spent() {
            true => edge_ns.min(now_ns + OTHERS_NS),
            false => edge_ns,
        };
        let until_ns = edge_ns
            .min(self.next_sweep_ns)
            .min(self.connections.next_opening_ns());
        let due_ns = self
            .due_ns()
            .filter(|_| !self.free.is_empty() && self.phase != Phase::Draining);
        match due_ns {
            Some(due_ns) if due_ns <= now_ns + SPIN_NS => (0, true),
            Some(due_ns) => (until_ns.min(due_ns - SPIN_NS).saturating_sub(now_ns), false),
            None => (until_ns.saturating_sub(now_ns), false),
        }
    }

    /// Closes everything, and counts the requests that are still under way and those never sent.
    fn finish(mut self) -> WorkerOutcome<'a> {
        let now_ns = clock::monotonic_ns();
        self.recorder.note_end();
        // Read before closing, because a connection that is closed now has not failed.
        let connections = self.connections.counts();
        for slot in 0..self.connections.len() {
            if self.connections.stage(slot).has_request() {
                self.end(slot, Fate::Unfinished, now_ns);
            }
            self.connections.close(slot);
        }
        self.give_up_unsent(now_ns);
        debug_assert!(
            !self.recorder.has_open_requests(),
            "{:?}",
            self.recorder.tally
        );
        WorkerOutcome {
            opened_ns: self.opened.at_ns,
            used: self.closed.since(&self.opened),
            connections,
            handshakes: self.connections.carrier.handshakes().cloned(),
            first_status: self.protocol.first_status(&self.memory),
            kinds: self.protocol.kinds(&self.memory),
            recorder: self.recorder,
        }
    }

    /// Records requests that were due and found no connection until the end.
    fn give_up_unsent(&mut self, now_ns: u64) {
        while let Some(due_ns) = self.due_ns() {
            self.recorder.never_sent(due_ns, now_ns);
            if let Some(schedule) = &mut self.schedule {
                schedule.advance();
            }
        }
    }
}
