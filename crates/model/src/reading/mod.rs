//! The measurements of one block of load: counts, CPU time and, in latency mode, distributions.

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
    /// Right answers received within the scored window, count: right status, right length.
    pub answered: u64,
    /// The fate of every request of the whole block, settling included.
    pub ledger: Ledger,
    /// CPU time spent within the scored window, by who spent it.
    pub cpu: CpuReading,
    /// What the connections carried; only for a server that is observed under its own traffic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carried: Option<CarriedReading>,
    /// Only in latency mode: the three distributions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<LatencyReading>,
    /// Doubts about this block; absent where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<Doubt>,
}

/// What a server's connections carried within the scored window, whoever opened them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CarriedReading {
    /// Payload in both directions, bytes.
    pub bytes: u64,
    /// Segments with payload in both directions, count.
    pub segments: u64,
    /// Connections that these counts miss in whole or in part, count: those that were opened and
    /// closed within the window, of any server of the network namespace, and those whose end was
    /// not reported in time.
    pub unseen: u64,
    /// The connections that the levers do not affect; only where a lever is tried that takes hold
    /// when a connection is opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub older: Option<OlderConnections>,
}

/// The connections that were opened before the levers of a block were set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OlderConnections {
    /// Bytes that these connections carried.
    pub bytes: u64,
    /// Number of these connections that carried something.
    pub connections: u64,
    /// Number of all connections that carried something.
    pub of: u64,
}

impl CarriedReading {
    /// The largest share of the bytes that older connections may carry in a block that is scored, 0
    /// to 1.
    pub const MOST_OLDER_SHARE: f64 = 0.05;

    /// The fewest segments with payload in a block that is scored, count: at 100, their number
    /// already varies by a tenth by chance alone.
    pub const FEWEST_SEGMENTS: u64 = 100;

    /// Segments that must be seen for each unseen connection, count. An unseen exchange of two
    /// segments is then at most a twentieth.
    const SEGMENTS_PER_UNSEEN: u64 = 40;

    /// Whether enough was carried for the block to be scored.
    pub const fn is_enough(&self) -> bool {
        self.segments >= Self::FEWEST_SEGMENTS
    }

    /// Whether few enough connections were missed for the block to be scored.
    pub const fn is_seen(&self) -> bool {
        self.unseen.saturating_mul(Self::SEGMENTS_PER_UNSEEN) <= self.segments
    }

    /// Share of the bytes carried by connections that were opened before the levers were set, 0 to
    /// 1; 0 where that does not matter.
    pub fn older_share(&self) -> f64 {
        let older = self.older.map_or(0, |older| older.bytes);
        older as f64 / self.bytes.max(1) as f64
    }

    /// Whether connections that were opened after the levers were set carried nearly everything.
    pub fn is_of_new(&self) -> bool {
        self.older_share() <= Self::MOST_OLDER_SHARE
    }

    /// Kilobytes carried, of 1,000 bytes; 0 where the block is not scored.
    fn kilobytes(&self) -> f64 {
        match self.is_enough() && self.is_seen() && self.is_of_new() {
            true => self.bytes as f64 / 1e3,
            false => 0.0,
        }
    }
}

/// The number of requests by fate. `sent` is the sum of all the other counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ledger {
    /// Requests sent, count; the sum of all the others.
    pub sent: u64,
    /// Right answers, count.
    pub answered: u64,
    /// Requests without a right answer, by fate.
    pub errors: Errors,
}

/// Requests that were sent and not rightly answered, by fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Errors {
    /// Whole answers with a status of 400 or above, count.
    pub status: u64,
    /// Answers that are not HTTP, or whose length is wrong, count.
    pub malformed: u64,
    /// Whole answers with another body than the first (one in 64 is compared), count.
    pub body: u64,
    /// Requests whose connection the peer closed or reset before the answer was whole, count.
    pub closed: u64,
    /// Requests without a whole answer within the time allowed, count.
    pub timeout: u64,
    /// Requests still unanswered when the block ended, count; these are no failures.
    pub unfinished: u64,
}

impl Errors {
    /// Number of failed requests; those cut off by the end of the block are not failures.
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

    /// Returns what was counted since an earlier reading of the same counts.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        self.with(earlier, u64::saturating_sub)
    }

    /// Adds another ledger, such as that of another thread. The sums saturate, because the counts
    /// in a run folder may be of any size.
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
    /// CPU time of all processes of the target, ns; `None` where they are remote or may not be
    /// seen.
    pub server_ns: Option<u64>,
    /// CPU time of all threads of the load generator, ns.
    pub client_ns: u64,
    /// CPU time of kernel threads that finish the network work of others, ns.
    pub ksoftirqd_ns: u64,
    /// CPU time of everything else on this machine, from the tick-based totals, ns; `None` where
    /// they are hidden.
    pub foreign_ns: Option<u64>,
    /// CPU time of all CPUs of the server's host; `None` where it is hidden, and in older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineCpu>,
    /// Share of its time for which the busiest load generator thread had the CPU, 0 to 1.
    pub client_busy_share: f64,
    /// `client_busy_share` with the time added in which that thread was ready to run while
    /// something else had its CPU; absent in older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_occupied_share: Option<f64>,
    /// Share of the window in which some task waited for a CPU (PSI), 0 to 1.
    pub psi_some_share: Option<f64>,
    /// Length of the window of the server's host, ns; only where it is not the client's host. Its
    /// counts are given here scaled from that window to `window_ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_window_ns: Option<u64>,
    /// Earlier attempts at this block that were thrown away, because the counters of the server's
    /// host were not read near both ends of the window, count; absent where there were none.
    #[serde(default, skip_serializing_if = "is_nought")]
    pub missed_before: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
pub(crate) fn is_nought(count: &u32) -> bool {
    *count == 0
}

/// The increase of a host's counters between two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Time from the first reading to the second, ns.
    pub window_ns: u64,
    /// CPU time of all processes of the target, ns; null where it is hidden.
    pub server_ns: Option<u64>,
    /// CPU time of kernel threads that finish the network work of others, ns.
    pub ksoftirqd_ns: u64,
    /// CPU time of all CPUs of this host; null where it is hidden.
    pub machine: Option<MachineCpu>,
    /// Share of the time in which some task waited for a CPU (PSI), 0 to 1.
    pub psi_some_share: Option<f64>,
}

impl Counts {
    /// Scales the counts to a window of another length, at the same pace.
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

    /// Busy time of the host's CPUs outside the target, any load generator there and ksoftirqd, ns.
    /// Ticks are coarser than the times that are subtracted, so a small remainder below 0 is given
    /// as 0. `None` where the target's time is unknown, as it would be counted as that of others.
    pub fn foreign_ns(&self, client_ns: u64) -> Option<u64> {
        // A remote host may report any number, so the sum saturates.
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
    /// From the intended send to the last byte, ns: what a user waits.
    pub response: Histogram,
    /// From the intended to the actual send, ns: our own lateness.
    pub lateness: Histogram,
    /// The rate that should be offered, requests/s.
    pub offered_rps: f64,
}

impl LatencyReading {
    /// Adds the distributions of another thread.
    pub fn merge(&mut self, other: &Self) {
        self.service.merge(&other.service);
        self.response.merge(&other.response);
        self.lateness.merge(&other.lateness);
    }

    /// Returns what was recorded since an earlier reading of the same block.
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
    /// Work done within the scored window: right answers, or kilobytes carried where those are
    /// counted.
    pub fn units(&self) -> f64 {
        self.carried
            .map_or(self.answered as f64, |carried| carried.kilobytes())
    }

    /// Answers per second of the scored window, or kilobytes per second where those are counted.
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

    /// CPU time of the target per unit of work, µs. `None` where it is unknown or no work was done.
    pub fn server_cpu_us_per_request(&self) -> Option<f64> {
        self.per_request_us(self.cpu.server_ns?)
    }

    /// CPU time of the load generator per unit of work, µs.
    pub fn client_cpu_us_per_request(&self) -> Option<f64> {
        self.per_request_us(self.cpu.client_ns)
    }

    /// CPU time of all CPUs of the server's host per unit of work, µs: of the target, a load
    /// generator on the same host, the kernel's own work and everything else. `None` where it is
    /// unknown or no work was done.
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
