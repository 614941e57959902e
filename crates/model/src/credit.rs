//! What a path carries for a while, and what it carries for ever.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Estimate;

/// A rate that holds for a part of a test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plateau {
    /// From the beginning of the test to its own, s.
    pub from_seconds: f64,
    /// From the beginning of the test to its end, s.
    pub to_seconds: f64,
    /// Median of its readings, bit/s.
    pub bits_per_second: Estimate,
}

/// Credit, as of a token bucket: it is spent above the base rate and earned below it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Credit {
    /// While there is credit, bit/s.
    pub burst_bits_per_second: Estimate,
    /// When it is spent, bit/s.
    pub base_bits_per_second: Estimate,
    /// What was carried above the base rate until then, bytes: all of the credit where it was full.
    pub credit_bytes: Estimate,
    /// From the beginning of the test until it was spent, s.
    pub spent_after_seconds: Estimate,
    /// In which it is earned again where nothing is carried, s.
    pub refill_seconds: Estimate,
}
