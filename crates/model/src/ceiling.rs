//! What a machine can do at most, by a probe of it, and what is taken of that.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Estimate;
use crate::explanation::ResourceBound;

/// Values of probes, one a round, by the names of docs/probes.md.
pub type ProbeValues = BTreeMap<String, Vec<f64>>;

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

/// What an answer takes of a machine, by a look at the program that gives it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AnswerDemand {
    /// Name of the arm.
    pub arm: String,
    /// Bytes that clients acknowledged, heads and all; absent where the kernel does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<f64>,
    /// System calls, count; absent where they could not be counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<f64>,
    /// Times that a thread gave its CPU up, count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switches: Option<f64>,
    /// Of the program's CPU time, that of its busiest thread, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busiest_share: Option<f64>,
    /// The name of that thread, as the kernel has it; empty where it is not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub busiest_thread: String,
    /// CPUs that the program may use, count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    /// CPUs that its control group may use at once, count; absent where there is no quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_cpus: Option<f64>,
}

/// What each resource lets an arm do at most.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArmCeilings {
    /// Name of the arm.
    pub arm: String,
    /// Of each resource of which it is known, the nearest first.
    pub bounds: Vec<ResourceBound>,
}
