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
    /// The Universal Scalability Law over workers; null where fewer than six numbers of them carry it.
    pub usl: Option<UslShape>,
}

/// One number of workers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScaleLevel {
    /// Name of its arm.
    pub arm: String,
    /// How many, count.
    pub workers: u32,
    /// Answers per second that were seen, requests/s: median over blocks.
    pub throughput_rps: Option<Estimate>,
    /// What so many CPUs could carry by the CPU time of a request, requests/s; null where that is hidden.
    pub implied_rps: Option<Estimate>,
    /// Throughput, over the first number's times as many workers, from pairs: 1 is linear.
    pub share_of_linear: Option<Estimate>,
    /// Whether the client was at its limit in half of the blocks or more: the law leaves the number out.
    pub client_is_limit: bool,
}
