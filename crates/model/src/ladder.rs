//! A whole ladder: what is asked besides its climb, and how its last state is confirmed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lever::LeverSetting;
use crate::rig::RigKind;

/// The arm of the state in which a ladder ends, when it is confirmed.
pub const LAST: &str = "last";

/// What is asked of a ladder besides its climb: each step alone on the first state and left out of
/// the last, the steps that it names together, and the last state once more against the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Whole {
    /// The hosts and links that the whole of it wants.
    #[serde(default)]
    pub rig: RigKind,
    /// What the first state has besides, where the whole is climbed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levers: Vec<LeverSetting>,
    /// Pairs of levers, of which the first state has the first only where the second cannot be had: it stands for
    /// what that would change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stand_ins: Vec<[LeverSetting; 2]>,
    /// Rounds of the confirmation, with servers started anew and another order.
    pub confirm_rounds: u32,
    /// Pairs of steps, of which is asked what both do beyond the product of each alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub together: Vec<[String; 2]>,
}

/// A step that a run does not climb.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// Name of the step.
    pub step: String,
    /// Why, as a sentence would go on.
    pub why: String,
    /// Whether it is of how the kernel was started, so that only a bound can be told of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_the_boot: bool,
}

/// The arm of one step alone on the first state. Names of steps have no colon.
pub fn alone(step: &str) -> String {
    format!("alone:{step}")
}

/// The arm of two steps on the first state.
pub fn both(steps: &[String; 2]) -> String {
    format!("both:{}+{}", steps[0], steps[1])
}

/// The arm of the last state without one step.
pub fn without(step: &str) -> String {
    format!("without:{step}")
}
