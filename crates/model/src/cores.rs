//! How far the CPUs of a machine are from one another: what a cache line takes between each two.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Estimate;

/// What a cache line takes between each two of some CPUs, and what follows of where they are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CoreDistances {
    /// The CPUs, by the kernel's numbers, ascending.
    pub cpus: Vec<usize>,
    /// Each two that were measured, by the higher and then by the lower number.
    pub pairs: Vec<CorePair>,
    /// CPUs that are nearer to one another than to others, the nearest first; the last level is of all CPUs. Empty unless
    /// each two were measured.
    pub levels: Vec<CoreLevel>,
}

/// Two CPUs: one-way times of a cache line between them, half of a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CorePair {
    /// The higher and the lower number.
    pub cpus: [usize; 2],
    /// One line that both compare and exchange, as locks have it, ns: the median of the medians of several lines, with its
    /// order-statistic interval at 95 %; `n` is lines.
    pub exchange_ns: Estimate,
    /// The same time of the 99th of 100 samples of all lines, ns; null where there are fewer than 1,000.
    pub exchange_ns_p99: Option<f64>,
    /// A line that the one writes and the other reads, and another for the way back, as rings have it, ns; likewise.
    pub handover_ns: Estimate,
}

/// Groups of CPUs, of which those of one are nearer to one another than to those of others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CoreLevel {
    /// The CPUs of each group, by its first; one that is near no other is a group of its own.
    pub groups: Vec<Vec<usize>>,
    /// The median of `exchange_ns` of the pairs that are in one group here and were in none of the level before, ns.
    pub exchange_ns: f64,
    /// Of the nearest of these pairs, ns.
    pub exchange_ns_low: f64,
    /// Of the farthest of them, ns.
    pub exchange_ns_high: f64,
}
