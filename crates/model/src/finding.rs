//! A judgement about a machine with its evidence.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much a finding matters to serving and to measuring.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// It was checked, and is as it should be.
    Fine,
    /// It could not be checked; the evidence says why.
    Unknown,
    /// It costs something, or may do so.
    Notice,
    /// It makes measurements on this machine untrustworthy, or costs a lot.
    Problem,
}

/// The result of one check: what was found, what it costs and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Short stable name, such as `packet-taps`.
    pub name: String,
    /// How much it matters: it is as it should be, could not be checked, costs something or may do
    /// so, or spoils measurements or costs a lot.
    pub severity: Severity,
    /// What was found, in one sentence.
    pub what: String,
    /// The files or calls that show it, and their contents.
    pub evidence: String,
    /// What it costs, with the source of the figure; empty when it costs nothing.
    pub cost: String,
    /// What to do; empty when there is nothing to do.
    pub advice: String,
}
