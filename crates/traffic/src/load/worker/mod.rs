//! One thread of load: waits, takes answers, sends requests, and stops when the block is over.

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

/// How long answers are waited for after the block; what is late then is unfinished.
const GRACE_NS: u64 = 50_000_000;
/// A sleep ends this long before a request is due; the rest is spun away, because a sleeping
/// thread is woken tens of µs late.
const SPIN_NS: u64 = 60_000;
/// A turn of the spinning loop that took longer was interrupted, and its time was not spun.
const SPIN_TURN_MAX_NS: u64 = 20_000;

/// A worker that has no request left to begin with looks as often whether the others are done.
const OTHERS_NS: u64 = 500_000;

/// How far a worker is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Settling,
    Scoring,
    /// Nothing is sent any more; the last answers are waited for.
    Draining,
}

/// One thread of load and all that is its own.
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
    /// `None` where the requests are as many as the time allows.
    countdown: Option<&'a Countdown>,
    free: FreeQueue,
    next_sweep_ns: u64,
    /// Connections that had been opened by the last sweep, each time that they were.
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
    /// The whole life of one thread. The first one has the observer.
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
        // Without it requests leave later, and their lateness says so.
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

    /// Opens all connections, or as many as the target accepts within the patience: the block
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
        // Those that have not even failed are tried as well.
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

    /// Sets the edges of the block and sends on every connection what is due.
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

    /// The loop: edges, what is due, what is to be looked after, a wait, and what it brought.
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

    /// When the last of so many requests had ended; `u64::MAX` before.
    #[inline]
    fn over_ns(&self) -> u64 {
        self.countdown.map_or(u64::MAX, Countdown::over_ns)
    }

    /// Whether so many requests were to be begun with, and were.
    #[inline]
    pub(super) fn is_spent(&self) -> bool {
        self.countdown.is_some_and(Countdown::is_spent)
    }

    /// Draws the edges in when the block was cut short.
    fn end_by(&mut self, cut_ns: u64) {
        if cut_ns < self.edges.close_ns {
            self.edges.open_ns = self.edges.open_ns.min(cut_ns);
            self.edges.close_ns = cut_ns;
            self.recorder.set_edges(self.edges);
        }
    }

    /// Opens and closes the scored window. What the observer does there is not scored.
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
            // A window that the end came before has no time, and no shares of it.
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

    /// Gives up on requests that took too long, and opens connections again.
    fn look_after(&mut self, now_ns: u64) {
        if now_ns >= self.next_sweep_ns {
            self.next_sweep_ns = now_ns + self.sweep_gap_ns();
            if let Some(countdown) = self.countdown {
                // One that is closed with each answer may be open between two sweeps alone.
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

    /// When the next request of an open loop is due; `None` in closed loop and after the last.
    #[inline]
    fn due_ns(&self) -> Option<u64> {
        let due_ns = self.edges.start_ns + self.schedule.as_ref()?.due_ns();
        (due_ns < self.edges.close_ns && !self.is_spent()).then_some(due_ns)
    }

    /// Waits for an answer or for the next thing to do, and returns the time.
    fn wait(&mut self) -> io::Result<u64> {
        let now_ns = clock::monotonic_ns();
        let (wait_ns, spins) = self.wait_time(now_ns);
        let came = self.connections.carrier.wait(wait_ns)?;
        let woken_ns = clock::monotonic_ns();
        if spins && !came {
            let turn_ns = woken_ns - now_ns;
            self.spun_ns += if turn_ns <= SPIN_TURN_MAX_NS {
                turn_ns
            } else {
                0
            };
        }
        Ok(woken_ns)
    }

    /// How long to wait from now on, and whether that is spinning.
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

    /// Closes everything and counts what is still out and what was never sent.
    fn finish(mut self) -> WorkerOutcome<'a> {
        let now_ns = clock::monotonic_ns();
        self.recorder.is_at_the_end();
        // What is closed now has not failed.
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

    /// Books what was due and found no connection until the end.
    fn give_up_unsent(&mut self, now_ns: u64) {
        while let Some(due_ns) = self.due_ns() {
            self.recorder.never_sent(due_ns, now_ns);
            if let Some(schedule) = &mut self.schedule {
                schedule.advance();
            }
        }
    }
}
