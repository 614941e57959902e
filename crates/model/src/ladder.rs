//! A whole ladder: what is measured in addition to its climb, and how its last state is confirmed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lever::LeverSetting;
use crate::rig::RigKind;

/// Name of the arm that confirms the state in which a ladder ends.
pub const LAST: &str = "last";

/// What is measured of a ladder in addition to its climb: each step alone on the first state and
/// left out of the last, the named pairs of steps, and the last state again against the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Whole {
    /// The hosts and links that the whole ladder needs.
    #[serde(default)]
    pub rig: RigKind,
    /// Levers that the first state has in addition if the whole ladder is climbed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levers: Vec<LeverSetting>,
    /// Pairs of levers. The first state has the first one only if the second is not available: it
    /// stands for what the second would change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stand_ins: Vec<[LeverSetting; 2]>,
    /// Rounds of the confirmation, with restarted servers and in another order.
    pub confirm_rounds: u32,
    /// Pairs of steps; for each the study asks what both do beyond the product of each alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub together: Vec<[String; 2]>,
}

/// A step that a run does not climb.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// Name of the step.
    pub step: String,
    /// The reason, as the continuation of a sentence.
    pub why: String,
    /// Whether it depends on how the kernel was started, so that only a bound can be given for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_the_boot: bool,
}

/// Name of the arm with one step alone on the first state. Names of steps have no colon.
pub fn alone(step: &str) -> String {
    format!("alone:{step}")
}

/// Name of the arm with two steps on the first state.
pub fn both(steps: &[String; 2]) -> String {
    format!("both:{}+{}", steps[0], steps[1])
}

/// Name of the arm with the last state without one step.
pub fn without(step: &str) -> String {
    format!("without:{step}")
}
