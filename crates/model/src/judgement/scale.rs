//! How a target's throughput grows with its workers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::UslShape;
use crate::verdict::Estimate;

/// What further workers bring.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scale {
    /// Every number of workers, the lowest first.
    pub levels: Vec<ScaleLevel>,
    /// The Universal Scalability Law over workers; null if fewer than six numbers of workers
    /// support it.
    pub usl: Option<UslShape>,
}

/// One number of workers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScaleLevel {
    /// Name of its arm.
    pub arm: String,
    /// Number of workers, count.
    pub workers: u32,
    /// Answers per second as measured, requests/s: median over blocks.
    pub throughput_rps: Option<Estimate>,
    /// Rate that as many CPUs could carry by the CPU time per request, requests/s; null where that
    /// time is hidden.
    pub implied_rps: Option<Estimate>,
    /// Throughput ÷ the throughput expected if it grew in proportion to workers from the first
    /// number on, from pairs: 1 is linear.
    pub share_of_linear: Option<Estimate>,
    /// Whether the client was at its limit in at least half of the blocks; the law then leaves this
    /// number out.
    pub client_is_limit: bool,
}
