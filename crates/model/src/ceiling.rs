//! What a machine can do at most, by a probe of it, and how much of that an answer uses.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Estimate;
use crate::explanation::ResourceBound;

/// Values of probes, one per round, by the names of docs/probes.md.
pub type ProbeValues = BTreeMap<String, Vec<f64>>;

/// A figure of one probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ceiling {
    /// Name of the probe, with the unit at its end: `_ns` for nanoseconds, where less is better, or
    /// `_bytes_per_second`.
    pub name: String,
    /// What is measured, in words.
    pub what: String,
    /// The median of the values, one per round, with its order-statistic interval at 95 %, in the
    /// unit of the name; `n` is rounds.
    pub found: Estimate,
}

/// A probe that gave no figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoCeiling {
    /// Name of the probe.
    pub name: String,
    /// What was to be measured, in words.
    pub what: String,
    /// Why there is no figure.
    pub why: String,
}

/// What one answer costs of a machine's resources, by an observation of the program that gives it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AnswerDemand {
    /// Name of the arm.
    pub arm: String,
    /// Bytes that clients acknowledged, headers included; absent where the kernel does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<f64>,
    /// System calls, count; absent where they could not be counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<f64>,
    /// Times that a thread gave up its CPU, count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switches: Option<f64>,
    /// Share of the program's CPU time that its busiest thread used, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busiest_share: Option<f64>,
    /// The name of that thread in the kernel; empty where it is not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub busiest_thread: String,
    /// CPUs that the program may use, count; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    /// CPUs that its control group may use at once, count; absent where there is no quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_cpus: Option<f64>,
}

/// The highest rates of an arm that its resources allow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArmCeilings {
    /// Name of the arm.
    pub arm: String,
    /// One bound for each resource for which it is known, the nearest first.
    pub bounds: Vec<ResourceBound>,
}
