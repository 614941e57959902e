//! Distances between the CPUs of a machine: how long a cache line takes between each two of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Estimate;

/// How long a cache line takes between each two of some CPUs, and the groups that follow from it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CoreDistances {
    /// The CPUs, by the kernel's numbers, ascending.
    pub cpus: Vec<usize>,
    /// The pairs that were measured, ordered by the higher and then by the lower number.
    pub pairs: Vec<CorePair>,
    /// Groupings of CPUs that are nearer to one another than to others, the nearest first; the last
    /// level is of all CPUs. Empty unless each pair was measured.
    pub levels: Vec<CoreLevel>,
}

/// Two CPUs, and the one-way times of a cache line between them: half of a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CorePair {
    /// The higher CPU number, then the lower one.
    pub cpus: [usize; 2],
    /// Time of a line on which both CPUs do compare-and-exchange, as with locks, ns: the median of
    /// the medians of several lines, with its order-statistic interval at 95 %; `n` is lines.
    pub exchange_ns: Estimate,
    /// 99th percentile of the same time over the samples of all lines, ns; null with fewer than
    /// 1,000 samples.
    pub exchange_ns_p99: Option<f64>,
    /// Time of a line that one CPU writes and the other reads, with a second line for the way back,
    /// as with rings, ns; estimated like `exchange_ns`.
    pub handover_ns: Estimate,
}

/// Groups of CPUs that are nearer to one another than to CPUs of other groups.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CoreLevel {
    /// The CPUs of each group, ordered by its first CPU; a CPU that is near no other is a group of
    /// its own.
    pub groups: Vec<Vec<usize>>,
    /// Median of `exchange_ns` over the pairs that share a group at this level but not at the level
    /// before, ns.
    pub exchange_ns: f64,
    /// `exchange_ns` of the nearest of these pairs, ns.
    pub exchange_ns_low: f64,
    /// `exchange_ns` of the farthest of these pairs, ns.
    pub exchange_ns_high: f64,
}
