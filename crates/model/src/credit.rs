//! The rate that a path carries for a while, and the rate that it carries for ever.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Estimate;

/// A rate that holds for a part of a test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plateau {
    /// When it begins, counted from the beginning of the test, s.
    pub from_seconds: f64,
    /// When it ends, counted from the beginning of the test, s.
    pub to_seconds: f64,
    /// Median of its readings, bit/s.
    pub bits_per_second: Estimate,
}

/// Credit, like that of a token bucket: it is spent above the base rate and earned below it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Credit {
    /// Rate while there is credit, bit/s.
    pub burst_bits_per_second: Estimate,
    /// Rate when the credit is spent, bit/s.
    pub base_bits_per_second: Estimate,
    /// Bytes carried above the base rate until then: the whole credit if the bucket was full.
    pub credit_bytes: Estimate,
    /// Time from the beginning of the test until the credit was spent, s.
    pub spent_after_seconds: Estimate,
    /// Time in which the credit is earned again if nothing is carried, s.
    pub refill_seconds: Estimate,
}
