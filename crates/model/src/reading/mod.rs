//! What one block of load gave: counts, CPU time and, in latency mode, distributions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod machine;

pub use machine::{MachineCpu, MachinePerUnit, MachineRuns};

use crate::{Doubt, Histogram};

/// Counters and distributions of one block, over its scored window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reading {
    /// Length of the scored window, ns.
    pub window_ns: u64,
    /// Answers that came in within the scored window: right status, right length.
    pub answered: u64,
    /// Every request of the whole block, settling included, in its bin.
    pub ledger: Ledger,
    /// CPU time spent within the scored window, by who spent it.
    pub cpu: CpuReading,
    /// Only of a server under the traffic that it has: what its connections carried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carried: Option<CarriedReading>,
    /// Only in latency mode: the three distributions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<LatencyReading>,
    /// Doubts about this block; absent where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<Doubt>,
}

/// What the connections of a server carried within the scored window, whoever opened them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CarriedReading {
    /// Payload in both directions, bytes.
    pub bytes: u64,
    /// Segments with payload in both directions, count.
    pub segments: u64,
    /// Connections of which not all is in these counts: those that came and went within the window, of any
    /// server of the network namespace, and those of which it was not told in time that they went.
    pub unseen: u64,
    /// Only where a lever is tried that takes hold as a connection is opened: those that it has not taken hold of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub older: Option<OlderConnections>,
}

/// The connections that were opened before the levers of a block were set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OlderConnections {
    /// What they carried of all that was carried, bytes.
    pub bytes: u64,
    /// How many of them carried something.
    pub connections: u64,
    /// How many connections carried something.
    pub of: u64,
}

impl CarriedReading {
    /// A block in which older connections carried more of the bytes is not scored, share.
    pub const MOST_OLDER_SHARE: f64 = 0.05;

    /// A block in which fewer segments carried anything is not scored, count: by chance alone their
    /// number varies by a tenth.
    pub const FEWEST_SEGMENTS: u64 = 100;

    /// For each connection that is not seen so many segments must be, count: of an exchange of two segments
    /// that is a twentieth.
    const SEGMENTS_PER_UNSEEN: u64 = 40;

    /// Whether there was enough to be scored.
    pub const fn is_enough(&self) -> bool {
        self.segments >= Self::FEWEST_SEGMENTS
    }

    /// Whether enough of it was seen.
    pub const fn is_seen(&self) -> bool {
        self.unseen.saturating_mul(Self::SEGMENTS_PER_UNSEEN) <= self.segments
    }

    /// What connections carried of the bytes that were opened before the levers were set, 0 to 1; 0 where that
    /// does not matter.
    pub fn older_share(&self) -> f64 {
        let older = self.older.map_or(0, |older| older.bytes);
        older as f64 / self.bytes.max(1) as f64
    }

    /// Whether nearly all was carried by connections that were opened after the levers were set.
    pub fn is_of_new(&self) -> bool {
        self.older_share() <= Self::MOST_OLDER_SHARE
    }

    /// Kilobytes of 1,000 bytes; 0 where they are not scored.
    fn kilobytes(&self) -> f64 {
        match self.is_enough() && self.is_seen() && self.is_of_new() {
            true => self.bytes as f64 / 1e3,
            false => 0.0,
        }
    }
}

/// The fate of each request. `sent` is the sum of all the other counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ledger {
    /// Requests sent, count; the sum of all the others.
    pub sent: u64,
    /// Right answers, count.
    pub answered: u64,
    /// The others, by fate.
    pub errors: Errors,
}

/// The bins for a request that was sent and not rightly answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Errors {
    /// A whole answer with a status of 400 or above.
    pub status: u64,
    /// Bytes that are no HTTP answer, or a length that does not hold.
    pub malformed: u64,
    /// Whole answers with another body than the first (one in 64 is compared), count.
    pub body: u64,
    /// The peer closed or reset the connection before the answer was whole.
    pub closed: u64,
    /// No whole answer within the time allowed.
    pub timeout: u64,
    /// Still unanswered when the block ended, count; these are no failures.
    pub unfinished: u64,
}

impl Errors {
    /// All failed requests; those cut off by the end of the block are not failures.
    pub fn failed(&self) -> u64 {
        let bins = [
            self.status,
            self.malformed,
            self.body,
            self.closed,
            self.timeout,
        ];
        bins.into_iter().fold(0, u64::saturating_add)
    }

    fn sum(&self) -> u64 {
        self.failed().saturating_add(self.unfinished)
    }
}

impl Ledger {
    /// Whether every request sent is in exactly one bin.
    pub fn balances(&self) -> bool {
        self.sent == self.answered.saturating_add(self.errors.sum())
    }

    /// What was counted since an earlier reading of the same counts.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        self.with(earlier, u64::saturating_sub)
    }

    /// Adds another ledger, as of another thread. Counts of a run folder may be any, and stay at the most
    /// there is.
    pub fn add(&mut self, other: &Self) {
        *self = self.with(other, u64::saturating_add);
    }

    fn with(&self, other: &Self, both: impl Fn(u64, u64) -> u64) -> Self {
        let (ours, theirs) = (&self.errors, &other.errors);
        Self {
            sent: both(self.sent, other.sent),
            answered: both(self.answered, other.answered),
            errors: Errors {
                status: both(ours.status, theirs.status),
                malformed: both(ours.malformed, theirs.malformed),
                body: both(ours.body, theirs.body),
                closed: both(ours.closed, theirs.closed),
                timeout: both(ours.timeout, theirs.timeout),
                unfinished: both(ours.unfinished, theirs.unfinished),
            },
        }
    }
}

/// CPU time spent within the scored window, by who spent it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuReading {
    /// All processes of the target; `None` where they are remote or may not be seen.
    pub server_ns: Option<u64>,
    /// All threads of the load generator.
    pub client_ns: u64,
    /// CPU time of kernel threads that finish the network work of others, ns.
    pub ksoftirqd_ns: u64,
    /// Everything else on this machine, from the tick-based totals; `None` where they are hidden.
    pub foreign_ns: Option<u64>,
    /// All CPUs of the server's host together; `None` where it is hidden, and in older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineCpu>,
    /// Share of its time for which the busiest load generator thread had the CPU, 0 to 1.
    pub client_busy_share: f64,
    /// That share with the time added in which it was ready to run and something else had its CPU; absent
    /// in older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_occupied_share: Option<f64>,
    /// Share of the window in which some task waited for a CPU (PSI), 0 to 1.
    pub psi_some_share: Option<f64>,
    /// Where the server's host is another than the client's: the length of its own window. What
    /// was counted there, in this time, is told here as the share that falls on `window_ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_window_ns: Option<u64>,
    /// Blocks measured in the place of this one before and thrown away, count; absent where none
    /// was: the counters of the server's host were not read near both ends of the window.
    #[serde(default, skip_serializing_if = "is_nought")]
    pub missed_before: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
pub(crate) fn is_nought(count: &u32) -> bool {
    *count == 0
}

/// What the counters of a host rose by between two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// From the one to the other, ns.
    pub window_ns: u64,
    /// CPU time of all processes of the target, ns; null where it is hidden.
    pub server_ns: Option<u64>,
    /// CPU time of kernel threads that finish the network work of others, ns.
    pub ksoftirqd_ns: u64,
    /// All CPUs of this host; null where they are hidden.
    pub machine: Option<MachineCpu>,
    /// Share of the time in which some task waited for a CPU (PSI), 0 to 1.
    pub psi_some_share: Option<f64>,
}

impl Counts {
    /// What there would be over a window of another length at the same pace.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a share of a count that fits; `as` saturates"
    )]
    pub fn over(&self, window_ns: u64) -> Self {
        let share = window_ns as f64 / self.window_ns.max(1) as f64;
        let scaled = |ns: u64| (ns as f64 * share).round() as u64;
        Self {
            window_ns,
            server_ns: self.server_ns.map(scaled),
            ksoftirqd_ns: scaled(self.ksoftirqd_ns),
            machine: self.machine.map(|machine| machine.each(scaled)),
            psi_some_share: self.psi_some_share,
        }
    }

    /// Busy time of the host's CPUs that neither the target nor a load generator there, nor
    /// ksoftirqd, spent. Ticks are coarser than what is taken off, so a small remainder below
    /// nought is nought. `None` where the target's time is unknown, which would count as theirs.
    pub fn foreign_ns(&self, client_ns: u64) -> Option<u64> {
        // A far host may tell any, which stay at the most there is.
        let known_ns = client_ns
            .saturating_add(self.server_ns?)
            .saturating_add(self.ksoftirqd_ns);
        Some(self.machine?.busy_ns().saturating_sub(known_ns))
    }
}

/// The three distributions of a latency block.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyReading {
    /// From the actual send to the last byte of the answer, ns.
    pub service: Histogram,
    /// From the intended send to the last byte: what a user waits.
    pub response: Histogram,
    /// From the intended to the actual send: our own lateness.
    pub lateness: Histogram,
    /// Rate that was to be offered, requests/s.
    pub offered_rps: f64,
}

impl LatencyReading {
    /// Adds the distributions of another thread.
    pub fn merge(&mut self, other: &Self) {
        self.service.merge(&other.service);
        self.response.merge(&other.response);
        self.lateness.merge(&other.lateness);
    }

    /// What was recorded since an earlier reading of the same block.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            service: self.service.since(&earlier.service),
            response: self.response.since(&earlier.response),
            lateness: self.lateness.since(&earlier.lateness),
            offered_rps: self.offered_rps,
        }
    }
}

impl Reading {
    /// The work that was done within the scored window: right answers, or kilobytes carried where those
    /// are counted.
    pub fn units(&self) -> f64 {
        self.carried
            .map_or(self.answered as f64, |carried| carried.kilobytes())
    }

    /// Answers per second of the scored window, or kilobytes.
    pub fn throughput_rps(&self) -> f64 {
        self.units() / (self.window_ns as f64 / 1e9)
    }

    /// Requests that failed, as a share of those sent in the whole block, 0 to 1.
    pub fn failed_share(&self) -> f64 {
        self.ledger.errors.failed() as f64 / self.ledger.sent.max(1) as f64
    }

    /// Whether the load generator was at its own limit.
    pub fn client_is_limit(&self) -> bool {
        let mut doubts = self.doubts.iter();
        doubts.any(|doubt| matches!(doubt, Doubt::ClientIsLimit { .. }))
    }

    /// CPU time of the target per answer, in µs. `None` where it is unknown or nothing came in.
    pub fn server_cpu_us_per_request(&self) -> Option<f64> {
        self.per_request_us(self.cpu.server_ns?)
    }

    /// CPU time of the load generator per answer, in µs.
    pub fn client_cpu_us_per_request(&self) -> Option<f64> {
        self.per_request_us(self.cpu.client_ns)
    }

    /// CPU time of all CPUs of the server's host per answer, in µs: the target, the load generator
    /// where it is there, the kernel's own work and that of others. `None` as above.
    pub fn machine_cpu_us_per_request(&self) -> Option<f64> {
        self.per_request_us(self.cpu.machine?.busy_ns())
    }

    fn per_request_us(&self, cpu_ns: u64) -> Option<f64> {
        let units = self.units();
        (units > 0.0).then(|| cpu_ns as f64 / 1e3 / units)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts() -> Counts {
        Counts {
            window_ns: 400,
            server_ns: Some(200),
            ksoftirqd_ns: 10,
            machine: Some(MachineCpu {
                user_ns: 200,
                system_ns: 100,
                irq_ns: 50,
                softirq_ns: 150,
                stolen_ns: 40,
            }),
            psi_some_share: Some(0.1),
        }
    }

    #[test]
    fn time_of_others_is_what_is_left_and_never_below_nought() {
        assert_eq!(counts().foreign_ns(190), Some(100));
        assert_eq!(counts().foreign_ns(1_000), Some(0));
        let hidden = Counts {
            server_ns: None,
            ..counts()
        };
        assert_eq!(hidden.foreign_ns(0), None);
    }

    #[test]
    fn work_is_what_was_answered_or_what_was_carried_unless_that_is_too_little() {
        let reading = |carried| Reading {
            answered: 7,
            carried,
            ..Reading::default()
        };
        let carried = |segments, unseen| {
            let carried = CarriedReading {
                bytes: 2500,
                segments,
                unseen,
                older: None,
            };
            Some(carried)
        };
        let older = |bytes| {
            let older = OlderConnections {
                bytes,
                ..OlderConnections::default()
            };
            carried(100, 0).map(|it| CarriedReading {
                older: Some(older),
                ..it
            })
        };
        let units = |carried| reading(carried).units().to_string();
        let (enough, few) = (carried(100, 2), carried(99, 0));
        let found = [None, enough, few, carried(100, 3), carried(100, u64::MAX)];
        assert_eq!(found.map(units), ["7", "2.5", "0", "0", "0"]);
        assert_eq!([125, 126].map(older).map(units), ["2.5", "0"]);
    }

    #[test]
    fn times_that_cannot_be_are_added_up_all_the_same() {
        let absurd = Counts {
            server_ns: Some(u64::MAX),
            ksoftirqd_ns: u64::MAX,
            ..counts()
        };
        assert_eq!(absurd.foreign_ns(u64::MAX), Some(0));
    }

    #[test]
    fn a_longer_window_holds_more_at_the_same_pace() {
        let longer = counts().over(500);
        assert_eq!((longer.window_ns, longer.server_ns), (500, Some(250)));
        let machine = longer.machine.unwrap();
        assert_eq!((machine.user_ns, machine.stolen_ns), (250, 50));
        assert_eq!(longer.psi_some_share, Some(0.1));
    }
}
