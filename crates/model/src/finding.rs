//! A judgement about a machine with its evidence.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much a finding matters to serving and to measuring.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Looked at, and as it should be.
    Fine,
    /// Could not be looked at; the evidence says why.
    Unknown,
    /// Costs something, or may.
    Notice,
    /// Makes measurements on this machine untrustworthy, or costs a lot.
    Problem,
}

/// One thing that was looked at: what was found, what it costs and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Short stable name, such as `packet-taps`.
    pub name: String,
    /// How much it matters: as it should be, could not be looked at, costs something or may, spoils
    /// measurements or costs a lot.
    pub severity: Severity,
    /// What was found, in one sentence.
    pub what: String,
    /// The files or calls that show it, and what they said.
    pub evidence: String,
    /// What it costs, with the source of the figure; empty when it costs nothing.
    pub cost: String,
    /// What to do; empty when there is nothing to do.
    pub advice: String,
}
