//! What a machine can do at most, by a probe of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Estimate;

/// A figure of one probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ceiling {
    /// The probe, with the unit at the end: `_ns` nanoseconds, of which fewer are better, `_bytes_per_second`.
    pub name: String,
    /// What is measured, in words.
    pub what: String,
    /// The median of the values, one a round, with its order-statistic interval at 95 %, in the unit of the name; `n` is
    /// rounds.
    pub found: Estimate,
}

/// A probe without a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoCeiling {
    /// The probe.
    pub name: String,
    /// What was to be measured, in words.
    pub what: String,
    /// Why there is none.
    pub why: String,
}
