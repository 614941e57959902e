//! What the workers of a block have counted so far: each writes its own, anybody reads at any time.

use model::reading::{Errors, LatencyReading, Ledger};
use model::shared::{SharedCount, SharedHistogram};

use super::countdown::Countdown;
use crate::protocol::Fate;

/// The counts of one worker. Two of them share no cache line, nor a pair of lines that is fetched
/// together: else each worker would wait for the other's writes.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Tally {
    pub(super) sent: SharedCount,
    /// By [`Fate`].
    bins: [SharedCount; FATES],
    /// Answered while the window was open.
    pub(super) scored: SharedCount,
    /// Of these, from each request to its answer, added up, ns.
    pub(super) waited_ns: SharedCount,
    /// Bytes of answers, heads and all, that came while the window was open.
    pub(super) received_bytes: SharedCount,
    pub(super) distributions: Option<Distributions>,
}

const FATES: usize = Fate::Unfinished as usize + 1;

/// The distributions of one worker, in ns.
#[derive(Debug, Default)]
pub(super) struct Distributions {
    pub(super) service: SharedHistogram,
    pub(super) response: SharedHistogram,
    pub(super) lateness: SharedHistogram,
}

impl Tally {
    pub(super) fn new(with_distributions: bool) -> Self {
        Self {
            sent: SharedCount::default(),
            bins: Default::default(),
            scored: SharedCount::default(),
            waited_ns: SharedCount::default(),
            received_bytes: SharedCount::default(),
            distributions: with_distributions.then(Distributions::default),
        }
    }

    /// Requests that ended so.
    #[inline]
    pub(super) fn bin(&self, fate: Fate) -> &SharedCount {
        &self.bins[fate as usize]
    }

    /// Requests of the whole block.
    #[inline]
    pub(super) fn ledger(&self) -> Ledger {
        let count = |fate| self.bin(fate).get();
        Ledger {
            sent: self.sent.get(),
            answered: count(Fate::Answered),
            errors: Errors {
                status: count(Fate::Status),
                malformed: count(Fate::Malformed),
                body: count(Fate::Body),
                closed: count(Fate::Closed),
                timeout: count(Fate::Timeout),
                unfinished: count(Fate::Unfinished),
            },
        }
    }

    /// The distributions, where they are recorded.
    pub(super) fn latency(&self, offered_rps: f64) -> Option<LatencyReading> {
        self.distributions.as_ref().map(|found| LatencyReading {
            service: found.service.read(),
            response: found.response.read(),
            lateness: found.lateness.read(),
            offered_rps,
        })
    }
}

/// A block under way, for whoever watches it.
#[derive(Debug)]
pub struct Live {
    tallies: Box<[Tally]>,
    offered_rps: f64,
    /// Where the plan says how many requests there are.
    countdown: Option<Countdown>,
}

/// All that was counted until some moment. While the load goes on, each number is right by itself;
/// two of them may be apart by what came in while they were read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SoFar {
    /// Every request of the block, settling included.
    pub ledger: Ledger,
    /// Right answers that came in within the scored window.
    pub answered: u64,
    /// From each of those requests to its answer, added up, ns.
    pub waited_ns: u64,
    /// Bytes received within the scored window.
    pub received_bytes: u64,
    /// Of the scored window, where the plan asks for it; in closed loop `service` alone is filled.
    pub latency: Option<LatencyReading>,
}

impl SoFar {
    /// What was counted since an earlier moment of the same block.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let latency = match (&self.latency, &earlier.latency) {
            (Some(now), Some(then)) => Some(now.since(then)),
            (now, _) => now.clone(),
        };
        Self {
            ledger: self.ledger.since(&earlier.ledger),
            answered: self.answered.saturating_sub(earlier.answered),
            waited_ns: self.waited_ns.saturating_sub(earlier.waited_ns),
            received_bytes: self.received_bytes.saturating_sub(earlier.received_bytes),
            latency,
        }
    }
}

impl Live {
    pub(super) fn new(threads: u32, with_distributions: bool, offered_rps: f64) -> Self {
        Self {
            tallies: (0..threads)
                .map(|_| Tally::new(with_distributions))
                .collect(),
            offered_rps,
            countdown: None,
        }
    }

    /// With an end after so many requests, where there is one.
    pub(super) fn counting_down(self, requests: Option<u64>) -> Self {
        Self {
            countdown: requests.map(Countdown::new),
            ..self
        }
    }

    pub(super) fn countdown(&self) -> Option<&Countdown> {
        self.countdown.as_ref()
    }

    /// The counts of each worker.
    pub(super) fn tallies(&self) -> &[Tally] {
        &self.tallies
    }

    /// Every request that all workers have sent by now.
    pub fn ledger(&self) -> Ledger {
        let mut sum = Ledger::default();
        let ledgers = self.tallies.iter().map(Tally::ledger);
        ledgers.for_each(|ledger| sum.add(&ledger));
        sum
    }

    /// What all workers have counted by now. The workers do not notice.
    pub fn so_far(&self) -> SoFar {
        let mut sum = SoFar {
            ledger: self.ledger(),
            ..SoFar::default()
        };
        for tally in &self.tallies {
            sum.answered += tally.scored.get();
            sum.waited_ns += tally.waited_ns.get();
            sum.received_bytes += tally.received_bytes.get();
            let Some(theirs) = tally.latency(self.offered_rps) else {
                continue;
            };
            match &mut sum.latency {
                Some(mine) => mine.merge(&theirs),
                None => sum.latency = Some(theirs),
            }
        }
        sum
    }
}
