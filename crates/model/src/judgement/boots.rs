//! What the judge made of a step that takes a reboot.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::factorial::Judged;
use crate::verdict::Estimate;

/// The last state of a ladder in boots with and without a step. Blocks of two boots are no pairs, so
/// there is an estimate and never a verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BetweenBoots {
    /// Name of the step.
    pub step: String,
    /// Words for a reader.
    pub title: String,
    /// What the command line of the kernel has with the step.
    pub option: String,
    /// Whether all is measured that can be without the step, and nothing with it.
    pub waits: bool,
    /// In the order in which they were measured.
    pub boots: Vec<BootResult>,
    /// Null until each arm has a boot that was measured in full.
    pub estimate: Option<BootEstimate>,
}

/// The last state in one boot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BootResult {
    /// Whether the step was taken in it.
    pub has_step: bool,
    /// Over the blocks of the last state and of its control, which are the same.
    pub server_cpu_us_per_request: Option<Estimate>,
    /// Answers per second, requests/s: median over all blocks of the boot.
    pub throughput_rps: Option<Estimate>,
    /// The last state against itself: what it drifts by within the boot.
    pub control: Judged,
    /// Whether it came out different from itself at the 0.5 % level, so that figures of this boot are
    /// of two states of the machine.
    pub drifted: bool,
    /// Rounds measured, count.
    pub rounds_done: u32,
    /// Rounds of the plan, count.
    pub rounds_planned: u32,
}

/// The last state with the step ÷ without it, of each boot's median.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BootEstimate {
    /// Of the outcome that verdicts are about; geometric means over boots.
    pub ratio: f64,
    /// Boots without the step.
    pub without: u32,
    /// Boots with it.
    pub with: u32,
    /// How far two boots of one arm came to be apart at most, as the larger ÷ the smaller; `None`
    /// while each arm has but one, so that what boots differ by anyhow is not known.
    pub same_arm_ratio: Option<f64>,
    /// 95 % interval of the ratio by Welch's t over boots; null below four boots per arm.
    pub interval: Option<[f64; 2]>,
}
