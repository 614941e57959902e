//! The result of one block of load, put together from its threads.

use model::reading::{LatencyReading, Ledger};
use model::{Doubt, Histogram};

use super::recorder::Recorder;
use super::tally::Live;
use super::usage::Usage;
use super::{Engine, LoadPlan, silence};

/// When a thread is occupied for more than this share of its time, the client holds the load back.
const CLIENT_LIMIT_SHARE: f64 = 0.85;
/// Latencies are doubtful when the p99 of the lateness exceeds this share of the median response
/// time.
const LATENESS_LIMIT_SHARE: f64 = 0.10;
/// With fewer observations than this, a p99 is no more than the largest value.
const LATENESS_MIN_COUNT: u64 = 1000;
/// Largest share of the offered rate that may be missing.
const SHORTFALL_LIMIT_SHARE: f64 = 0.01;
/// The number of requests under way varies by chance: it is nearly never further from its mean than
/// this many times the square root of the mean.
const OUT_BY_CHANCE: f64 = 3.0;
/// Largest share of failed requests without a doubt: one failure in a thousand may be chance.
const FAILED_LIMIT_SHARE: f64 = 0.001;

/// What happened to connections, as opposed to requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionCounts {
    /// Connections that were opened for the first time.
    pub opened: u64,
    /// Attempts to connect that failed; each is repeated after a pause.
    pub failed: u64,
    /// Connections that were opened again after the peer closed them or a request failed.
    pub reopened: u64,
}

/// TLS handshakes that were completed in a whole block.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Handshakes {
    /// Number of handshakes among `times` that resumed an earlier session.
    pub resumed: u64,
    /// From the connection to the end of the handshake, ns.
    pub times: Histogram,
}

impl Handshakes {
    /// Adds the handshakes of another thread.
    pub(super) fn merge(&mut self, others: &Self) {
        self.resumed += others.resumed;
        self.times.merge(&others.times);
    }
}

/// The result of one block of load.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadOutcome {
    /// What carried the bytes: never [`Engine::Auto`].
    pub engine: Engine,
    /// When the scored window opened, by [`sys::clock::monotonic_ns`].
    pub opened_ns: u64,
    /// Actual time under load before the scored window, ns.
    pub settled_ns: u64,
    /// Actual length of the scored window, ns; 0 where the block ended before it opened. Where the
    /// requests are counted, the time from the start of the block to the end of the last request.
    pub window_ns: u64,
    /// Right answers that came in within the scored window.
    pub answered: u64,
    /// Sum of the times from each of those requests to its answer, ns; where only throughput
    /// counts, to the moment at which a batch of answers was read.
    pub waited_ns: u64,
    /// Bytes received within the scored window: heads, bodies and chunk framing.
    pub received_bytes: u64,
    /// The fates of all requests of the whole block, settling included.
    pub ledger: Ledger,
    /// CPU time of all load threads within the scored window, less the time they spun.
    pub client_cpu_ns: u64,
    /// Share of the window in which the busiest thread worked: its CPU time without spinning.
    pub client_busy_share: f64,
    /// That share plus the time in which the thread was ready to run while something else had its
    /// CPU. Near 1, the thread could not have done more.
    pub client_occupied_share: f64,
    /// Present when the plan asked for it. In closed loop only `service` is filled. A request that
    /// was given up (timeout, end of the block) counts with the time for which it had waited; in
    /// closed loop, one that was given up at the end counts only if no answer took as long. A
    /// request of an open loop that found no connection until the end counts in `response` and
    /// `lateness`.
    pub latency: Option<LatencyReading>,
    /// In open loop, requests that were due in the scored window and found no connection until the
    /// end.
    pub due_unsent: u64,
    /// Requests in the distribution of response times that have no answer: never sent, given up, or
    /// still under way at the end. They would have taken longer than the distribution says.
    pub due_unanswered: u64,
    pub connections: ConnectionCounts,
    /// Handshakes of the whole block, settling included; `None` in the clear.
    pub handshakes: Option<Handshakes>,
    /// The fates of the requests of the whole block by kind, where there are kinds.
    pub kinds: Vec<Ledger>,
    /// Status of the first answer; 0 when there was none.
    pub first_status: u16,
    /// Answers in each [`TICK_NS`](super::TICK_NS), counted from the start of the block.
    pub window_counts: Vec<u64>,
    pub doubts: Vec<Doubt>,
}

/// The result of one worker.
#[derive(Debug)]
pub(super) struct WorkerOutcome<'a> {
    pub(super) recorder: Recorder<'a>,
    /// When its scored window opened, by the monotonic clock.
    pub(super) opened_ns: u64,
    /// CPU time used in the scored window.
    pub(super) used: Usage,
    pub(super) connections: ConnectionCounts,
    pub(super) handshakes: Option<Handshakes>,
    pub(super) first_status: Option<u16>,
    /// The fates of its requests by kind, where the protocol has kinds.
    pub(super) kinds: Vec<Ledger>,
}

impl LoadOutcome {
    /// Adds up the threads. The window is that of the first thread, which is the observer's too.
    pub(super) fn merge(
        plan: &LoadPlan,
        engine: Engine,
        live: &Live,
        workers: Vec<WorkerOutcome<'_>>,
    ) -> Self {
        let counted = live.so_far();
        // Counted requests begin with the block, and the window ends with the last of them.
        let window_ns = |first: &WorkerOutcome<'_>| match plan.requests {
            Some(_) => first.recorder.window_ns(),
            None => first.used.at_ns,
        };
        let edges = |first: &WorkerOutcome<'_>| {
            let settled_ns = first.recorder.settled_ns();
            (first.opened_ns, settled_ns, window_ns(first))
        };
        let (opened_ns, settled_ns, window_ns) = workers.first().map_or((0, 0, 0), edges);
        let first_status = workers.iter().find_map(|worker| worker.first_status);
        let mut outcome = Self {
            engine,
            opened_ns,
            settled_ns,
            window_ns,
            answered: counted.answered,
            waited_ns: counted.waited_ns,
            received_bytes: counted.received_bytes,
            ledger: counted.ledger,
            client_cpu_ns: 0,
            client_busy_share: 0.0,
            client_occupied_share: 0.0,
            latency: counted.latency,
            due_unsent: 0,
            due_unanswered: 0,
            connections: ConnectionCounts::default(),
            handshakes: plan.tls.as_ref().map(|_| Handshakes::default()),
            kinds: Vec::new(),
            first_status: first_status.unwrap_or(0),
            window_counts: Vec::new(),
            doubts: Vec::new(),
        };
        let due = Due::of(&workers);
        outcome.due_unsent = due.unsent;
        outcome.due_unanswered = due.unanswered(outcome.latency.as_ref());
        for worker in workers {
            outcome.add(worker);
        }
        debug_assert!(outcome.ledger.balances(), "{:?}", outcome.ledger);
        outcome.doubts = doubts(plan, &outcome, &due);
        outcome
    }

    fn add(&mut self, worker: WorkerOutcome<'_>) {
        self.client_cpu_ns += worker.used.work_ns();
        self.client_busy_share = self.client_busy_share.max(worker.used.busy_share());
        self.client_occupied_share = self.client_occupied_share.max(worker.used.occupied_share());
        self.connections.opened += worker.connections.opened;
        self.connections.failed += worker.connections.failed;
        self.connections.reopened += worker.connections.reopened;
        if let (Some(mine), Some(theirs)) = (&mut self.handshakes, &worker.handshakes) {
            mine.merge(theirs);
        }
        self.kinds
            .resize(worker.kinds.len().max(self.kinds.len()), Ledger::default());
        for (sum, kind) in self.kinds.iter_mut().zip(&worker.kinds) {
            sum.add(kind);
        }
        let counts = worker.recorder.ticks;
        self.window_counts
            .resize(counts.len().max(self.window_counts.len()), 0);
        for (sum, count) in self.window_counts.iter_mut().zip(counts) {
            *sum += count;
        }
    }

    /// Answers per second of the scored window.
    pub fn throughput_rps(&self) -> f64 {
        self.answered as f64 / (self.window_ns.max(1) as f64 / 1e9)
    }

    /// Bytes received per second of the scored window.
    pub fn received_bytes_per_second(&self) -> f64 {
        self.received_bytes as f64 / (self.window_ns.max(1) as f64 / 1e9)
    }

    /// Mean time of a handshake, µs; `None` in the clear and where there was none.
    pub fn handshake_us(&self) -> Option<f64> {
        let times = &self.handshakes.as_ref()?.times;
        times.mean().map(|ns| ns / 1e3)
    }

    /// CPU time of the load threads per answer, in µs; `None` when nothing was answered.
    pub fn client_cpu_us_per_request(&self) -> Option<f64> {
        (self.answered > 0).then(|| self.client_cpu_ns as f64 / 1e3 / self.answered as f64)
    }
}

/// Fates of the requests of an open loop that were due in the window, over all threads.
struct Due {
    all: u64,
    answered: u64,
    unsent: u64,
    unfinished: u64,
}

impl Due {
    fn of(workers: &[WorkerOutcome<'_>]) -> Self {
        let recorders = || workers.iter().map(|worker| &worker.recorder);
        Self {
            all: recorders().map(Recorder::due).sum(),
            answered: recorders().map(|recorder| recorder.due_answered).sum(),
            unsent: recorders().map(|recorder| recorder.due_unsent).sum(),
            unfinished: recorders().map(|recorder| recorder.due_unfinished).sum(),
        }
    }

    /// Returns how many have no answer and count with the time for which they had waited; those
    /// that were given up are among them where times are recorded.
    fn unanswered(&self, latency: Option<&LatencyReading>) -> u64 {
        latency.map_or(self.unsent + self.unfinished, |latency| {
            latency.response.total().saturating_sub(self.answered)
        })
    }

    /// Returns how many of the requests that were under way at the end a server that keeps up would
    /// also have under way at any moment: as many as are due in the time that an answer takes
    /// (Little's law), plus chance. A server that falls behind has twice as many, since its answers
    /// take ever longer. Requests that were never sent are not under way.
    fn on_their_way(&self, outcome: &LoadOutcome) -> f64 {
        let answer_ns = outcome.waited_ns as f64 / outcome.answered.max(1) as f64;
        let usual = self.all as f64 * answer_ns / outcome.window_ns.max(1) as f64;
        (self.unfinished as f64).min(usual + OUT_BY_CHANCE * usual.sqrt())
    }
}

/// Judges whether an open loop stayed below the load it was to offer in the window. The due
/// requests are counted, not computed from the rate, because Poisson arrivals differ from it by
/// chance. Where the requests are counted, all are due before the window ends, which waits for the
/// last answer: then the rate itself is used.
fn shortfall(plan: &LoadPlan, outcome: &LoadOutcome, due: &Due) -> Option<Doubt> {
    let rate_rps = plan.rate_rps()?;
    let seconds = outcome.window_ns.max(1) as f64 / 1e9;
    let offered_rps = match plan.requests {
        Some(_) => rate_rps,
        None => due.all as f64 / seconds,
    };
    let (all, answered) = (due.all as f64, due.answered as f64);
    let is_missed = answered + due.on_their_way(outcome) < all * (1.0 - SHORTFALL_LIMIT_SHARE);
    is_missed.then_some(Doubt::RateNotReached {
        offered_rps,
        achieved_rps: offered_rps * answered / all.max(1.0),
        unanswered: outcome.due_unanswered,
    })
}

/// Judges whether the server went away: it fell silent, or refused more connections than it
/// accepted. Where the requests are counted, the last ones are waited for while no other is under
/// way, so silence says nothing.
fn gone(plan: &LoadPlan, outcome: &LoadOutcome) -> Option<Doubt> {
    let ConnectionCounts {
        opened,
        failed,
        reopened,
    } = outcome.connections;
    let made = opened + reopened;
    let silent_ns = silence::at_the_end_ns(&outcome.window_counts);
    match silent_ns.filter(|_| plan.requests.is_none()) {
        Some(silent_ns) => Some(Doubt::StoppedAnswering {
            silent_seconds: silent_ns.min(outcome.window_ns) as f64 / 1e9,
            connects_failed: failed,
        }),
        None => (failed > made).then_some(Doubt::ConnectsFailed { failed, made }),
    }
}

/// Returns what a sceptic would ask about this block.
fn doubts(plan: &LoadPlan, outcome: &LoadOutcome, due: &Due) -> Vec<Doubt> {
    let gone = gone(plan, outcome);
    let shortfall = shortfall(plan, outcome, due);
    let client =
        (outcome.client_occupied_share > CLIENT_LIMIT_SHARE).then_some(Doubt::ClientIsLimit {
            busy_share: outcome.client_occupied_share,
        });
    let late = outcome.latency.as_ref().and_then(late_sends);
    let failed_share = outcome.ledger.errors.failed() as f64 / outcome.ledger.sent.max(1) as f64;
    let failed =
        (failed_share > FAILED_LIMIT_SHARE).then_some(Doubt::RequestsFailed { failed_share });
    [gone, client, shortfall, late, failed]
        .into_iter()
        .flatten()
        .collect()
}

fn late_sends(latency: &LatencyReading) -> Option<Doubt> {
    let lateness_ns_p99 = latency.lateness.quantile(0.99)?;
    let response_ns_p50 = latency.response.quantile(0.5)?;
    let is_late = lateness_ns_p99 as f64 > LATENESS_LIMIT_SHARE * response_ns_p50 as f64;
    (is_late && latency.lateness.total() >= LATENESS_MIN_COUNT).then_some(Doubt::LateSends {
        lateness_ns_p99,
        response_ns_p50,
    })
}

#[cfg(test)]
mod tests {
    use super::super::plan::tests::plan;
    use super::super::recorder::{Edges, Scoring};
    use super::super::tally::Tally;
    use super::*;
    use crate::protocol::Fate;
    use model::Pace;
    use model::workload::Arrivals;

    const SECOND: u64 = 1_000_000_000;

    fn live(threads: u32) -> Live {
        Live::new(threads, true, 1000.0)
    }

    fn worker(
        tally: &Tally,
        (work_ns, waited_ns): (u64, u64),
        (due, due_answered): (u64, u64),
    ) -> WorkerOutcome<'_> {
        let edges = Edges {
            start_ns: 0,
            open_ns: 0,
            close_ns: SECOND,
        };
        let mut recorder = Recorder::new(edges, Scoring::ByIntention, tally);
        recorder.due_sent = due;
        recorder.due_answered = due_answered;
        let spun_ns = 100_000_000;
        WorkerOutcome {
            recorder,
            opened_ns: 0,
            used: Usage {
                at_ns: SECOND,
                cpu_ns: work_ns + spun_ns,
                waited_ns,
                spun_ns,
            },
            connections: ConnectionCounts::default(),
            handshakes: None,
            first_status: None,
            kinds: Vec::new(),
        }
    }

    fn merged(live: &Live, workers: Vec<WorkerOutcome<'_>>) -> LoadOutcome {
        merged_of(None, live, workers)
    }

    fn merged_of(
        requests: Option<u64>,
        live: &Live,
        workers: Vec<WorkerOutcome<'_>>,
    ) -> LoadOutcome {
        let pace = Pace::Open {
            rate_rps: 1000.0,
            arrivals: Arrivals::Poisson,
            seed: 1,
        };
        let plan = LoadPlan {
            pace,
            requests,
            ..plan()
        };
        LoadOutcome::merge(&plan, Engine::Epoll, live, workers)
    }

    #[test]
    fn spinning_raises_no_doubt_and_waiting_for_the_cpu_does() {
        let live = live(2);
        let [one, other] = live.tallies() else {
            panic!("{live:?}")
        };
        let calm = merged(&live, vec![worker(one, (800_000_000, 0), (0, 0))]);
        assert!(calm.doubts.is_empty(), "{:?}", calm.doubts);
        let workers = vec![
            worker(one, (0, 0), (0, 0)),
            worker(other, (400_000_000, 500_000_000), (0, 0)),
        ];
        let crowded = merged(&live, workers);
        assert!(
            matches!(crowded.doubts[..], [Doubt::ClientIsLimit { busy_share }] if busy_share > 0.89)
        );
        assert!((crowded.client_busy_share - 0.4).abs() < 1e-9);
        assert_eq!(crowded.client_cpu_ns, 400_000_000);
    }

    #[test]
    fn a_rate_is_missed_when_what_was_due_was_not_answered() {
        let live = live(1);
        let tally = &live.tallies()[0];
        let worker = |due| worker(tally, (0, 0), due);
        assert!(merged(&live, vec![worker((1030, 1030))]).doubts.is_empty());
        let short = merged(&live, vec![worker((500, 490)), worker((500, 490))]);
        assert!(matches!(short.doubts[..], [Doubt::RateNotReached { .. }]));
    }

    #[test]
    fn what_a_server_that_keeps_up_has_out_at_any_moment_is_not_missing_from_the_rate() {
        let doubts = |answer_ns: u64| {
            let live = live(1);
            let tally = &live.tallies()[0];
            tally.scored.add(1000);
            tally.waited_ns.add(1000 * answer_ns);
            let mut worker = worker(tally, (0, 0), (1000, 850));
            worker.recorder.due_unfinished = 150;
            merged(&live, vec![worker]).doubts
        };
        assert!(doubts(200_000_000).is_empty());
        // In a queue that grows, the last requests wait for 150 ms, and earlier ones for less.
        let behind = doubts(75_000_000);
        assert!(matches!(behind[..], [Doubt::RateNotReached { .. }]));
    }

    #[test]
    fn what_was_due_and_never_sent_is_told_and_its_times_with_it() {
        let live = live(1);
        let tally = &live.tallies()[0];
        let mut worker = worker(tally, (0, 0), (0, 0));
        (0..3).for_each(|_| worker.recorder.never_sent(0, SECOND));
        let outcome = merged(&live, vec![worker]);
        assert_eq!((outcome.due_unsent, outcome.due_unanswered), (3, 3));
        let missed = Doubt::RateNotReached {
            offered_rps: 3.0,
            achieved_rps: 0.0,
            unanswered: 3,
        };
        assert_eq!(outcome.doubts, [missed]);
    }

    #[test]
    fn a_server_that_went_away_is_a_doubt_by_its_silence_or_by_what_it_refused() {
        let live = live(1);
        let tally = &live.tallies()[0];
        let doubts = |ticks: [u64; 10], failed| {
            let mut worker = worker(tally, (0, 0), (0, 0));
            worker.recorder.ticks = ticks.to_vec();
            worker.connections = ConnectionCounts {
                opened: 4,
                failed,
                reopened: 0,
            };
            merged(&live, vec![worker]).doubts
        };
        let stopped = Doubt::StoppedAnswering {
            silent_seconds: 0.6,
            connects_failed: 9,
        };
        assert_eq!(doubts([90, 80, 90, 80, 0, 0, 0, 0, 0, 0], 9), [stopped]);
        let refused = Doubt::ConnectsFailed { failed: 5, made: 4 };
        assert_eq!(doubts([90; 10], 5), [refused]);
        assert!(doubts([90; 10], 4).is_empty());
    }

    #[test]
    fn of_requests_that_are_counted_the_rate_is_that_of_the_plan_however_late_the_last_answer() {
        let live = live(1);
        let tally = &live.tallies()[0];
        let half = merged_of(Some(20), &live, vec![worker(tally, (0, 0), (20, 10))]);
        let missed = Doubt::RateNotReached {
            offered_rps: 1000.0,
            achieved_rps: 500.0,
            unanswered: 0,
        };
        assert_eq!(half.doubts, [missed]);
    }

    #[test]
    fn failures_are_a_doubt_from_one_in_a_thousand_on() {
        let outcome = |failed| {
            let live = live(1);
            let tally = &live.tallies()[0];
            tally.sent.add(10_000);
            tally.bin(Fate::Answered).add(10_000 - failed);
            tally.bin(Fate::Closed).add(failed);
            merged(&live, vec![worker(tally, (0, 0), (0, 0))])
        };
        assert!(outcome(10).doubts.is_empty());
        assert!(matches!(
            outcome(11).doubts[..],
            [Doubt::RequestsFailed { .. }]
        ));
    }

    #[test]
    fn late_sends_need_a_tail_to_be_told_from() {
        let latency = |count: u64| {
            let mut latency = LatencyReading::default();
            for index in 0..count {
                latency.response.record(1_000_000);
                latency
                    .lateness
                    .record(if index % 50 == 0 { 200_000 } else { 0 });
            }
            latency
        };
        assert!(late_sends(&latency(2000)).is_some());
        assert!(late_sends(&latency(500)).is_none());
    }
}
