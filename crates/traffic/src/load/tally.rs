//! The counts of a block under way: each worker writes its own, and any thread reads them at any
//! time.

use model::reading::{Errors, LatencyReading, Ledger};
use model::shared::{SharedCount, SharedHistogram};

use super::countdown::Countdown;
use crate::protocol::Fate;

/// The counts of one worker. Two of them share neither a cache line nor a pair of lines that is
/// fetched together: otherwise each worker would wait for the other's writes.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Tally {
    pub(super) sent: SharedCount,
    /// Requests that ended, by [`Fate`].
    bins: [SharedCount; FATES],
    /// Requests that were answered while the window was open.
    pub(super) scored: SharedCount,
    /// Sum of the times from each of these requests to its answer, ns.
    pub(super) waited_ns: SharedCount,
    /// Bytes of answers, heads included, that came while the window was open.
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

    /// Returns the count of requests that ended with this fate.
    #[inline]
    pub(super) fn bin(&self, fate: Fate) -> &SharedCount {
        &self.bins[fate as usize]
    }

    /// Returns the ledger of the whole block.
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

    /// Reads the distributions, if they are recorded.
    pub(super) fn latency(&self, offered_rps: f64) -> Option<LatencyReading> {
        self.distributions.as_ref().map(|found| LatencyReading {
            service: found.service.read(),
            response: found.response.read(),
            lateness: found.lateness.read(),
            offered_rps,
        })
    }
}

/// A block under way, for its observers.
#[derive(Debug)]
pub struct Live {
    tallies: Box<[Tally]>,
    offered_rps: f64,
    /// Present where the plan limits the number of requests.
    countdown: Option<Countdown>,
}

/// Everything that was counted up to some moment. While the load goes on, each number is right by
/// itself; two of them may differ by what came in while they were read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SoFar {
    /// Fates of all requests of the block, settling included.
    pub ledger: Ledger,
    /// Right answers that came in within the scored window.
    pub answered: u64,
    /// Sum of the times from each of those requests to its answer, ns.
    pub waited_ns: u64,
    /// Bytes received within the scored window.
    pub received_bytes: u64,
    /// Distributions of the scored window, where the plan asks for them; in closed loop only
    /// `service` is filled.
    pub latency: Option<LatencyReading>,
}

impl SoFar {
    /// Returns what was counted since an earlier moment of the same block.
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

    /// Adds a countdown where the number of requests is limited.
    pub(super) fn counting_down(self, requests: Option<u64>) -> Self {
        Self {
            countdown: requests.map(Countdown::new),
            ..self
        }
    }

    pub(super) fn countdown(&self) -> Option<&Countdown> {
        self.countdown.as_ref()
    }

    /// Returns the counts of each worker.
    pub(super) fn tallies(&self) -> &[Tally] {
        &self.tallies
    }

    /// Returns the ledger of all workers up to now.
    pub fn ledger(&self) -> Ledger {
        let mut sum = Ledger::default();
        let ledgers = self.tallies.iter().map(Tally::ledger);
        ledgers.for_each(|ledger| sum.add(&ledger));
        sum
    }

    /// Returns what all workers have counted up to now, without disturbing them.
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
