//! What one block of load gave: counts, CPU time and, in latency mode, distributions.

use serde::{Deserialize, Serialize};

use crate::{Doubt, Histogram};

/// Counters and distributions of one block, over its scored window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// Length of the scored window.
    pub window_ns: u64,
    /// Answers that came in within the scored window: right status, right length.
    pub answered: u64,
    /// Every request of the whole block, settling included, in its bin.
    pub ledger: Ledger,
    pub cpu: CpuReading,
    /// Only in latency mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<LatencyReading>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<Doubt>,
}

/// The fate of each request. `sent` is the sum of all the other counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    pub sent: u64,
    pub answered: u64,
    pub errors: Errors,
}

/// The bins for a request that was sent and not rightly answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Errors {
    /// A whole answer with a status of 400 or above.
    pub status: u64,
    /// Bytes that are no HTTP answer, or a length that does not hold.
    pub malformed: u64,
    /// A whole answer whose body is not the one first seen (verified samples only).
    pub body: u64,
    /// The peer closed or reset the connection before the answer was whole.
    pub closed: u64,
    /// No whole answer within the time allowed.
    pub timeout: u64,
    /// Still unanswered when the block ended.
    pub unfinished: u64,
}

impl Errors {
    /// All failed requests; those cut off by the end of the block are not failures.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.status + self.malformed + self.body + self.closed + self.timeout
    }

    fn sum(&self) -> u64 {
        self.failed() + self.unfinished
    }
}

impl Ledger {
    /// Whether every request sent is in exactly one bin.
    #[must_use]
    pub fn balances(&self) -> bool {
        self.sent == self.answered + self.errors.sum()
    }

    /// Adds another ledger, as of another thread.
    pub fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.answered += other.answered;
        self.errors.status += other.errors.status;
        self.errors.malformed += other.errors.malformed;
        self.errors.body += other.errors.body;
        self.errors.closed += other.errors.closed;
        self.errors.timeout += other.errors.timeout;
        self.errors.unfinished += other.errors.unfinished;
    }
}

/// CPU time spent within the scored window, by who spent it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuReading {
    /// All processes of the target; `None` where they are remote or may not be seen.
    pub server_ns: Option<u64>,
    /// All threads of the load generator.
    pub client_ns: u64,
    /// Kernel threads that finish the network work of others.
    pub ksoftirqd_ns: u64,
    /// Everything else on this machine, from the tick-based totals; `None` where they are hidden.
    pub foreign_ns: Option<u64>,
    /// Share of its time for which the busiest load generator thread had the CPU, 0 to 1.
    pub client_busy_share: f64,
    /// Share of the window in which some task waited for a CPU (PSI), 0 to 1.
    pub psi_some_share: Option<f64>,
}

/// The three distributions of a latency block.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyReading {
    /// From the actual send to the last byte of the answer.
    pub service: Histogram,
    /// From the intended send to the last byte: what a user waits.
    pub response: Histogram,
    /// From the intended to the actual send: our own lateness.
    pub lateness: Histogram,
    /// The rate that was to be offered.
    pub offered_rps: f64,
}

impl Reading {
    /// Answers per second of the scored window.
    #[must_use]
    pub fn throughput_rps(&self) -> f64 {
        self.answered as f64 / (self.window_ns as f64 / 1e9)
    }

    /// CPU time of the target per answer, in µs. `None` where it is unknown or nothing came in.
    #[must_use]
    pub fn server_cpu_us_per_request(&self) -> Option<f64> {
        self.per_request_us(self.cpu.server_ns?)
    }

    /// CPU time of the load generator per answer, in µs.
    #[must_use]
    pub fn client_cpu_us_per_request(&self) -> Option<f64> {
        self.per_request_us(self.cpu.client_ns)
    }

    fn per_request_us(&self, cpu_ns: u64) -> Option<f64> {
        (self.answered > 0).then(|| cpu_ns as f64 / 1e3 / self.answered as f64)
    }
}
