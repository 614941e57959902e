//! The judgement of a step that takes a reboot.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::factorial::Judged;
use crate::verdict::Estimate;

/// The last state of a ladder, in boots with and without a step. Blocks of two boots are no pairs,
/// so there is an estimate and never a verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BetweenBoots {
    /// Name of the step.
    pub step: String,
    /// Title of the step for a reader.
    pub title: String,
    /// The option that the step adds to the kernel's command line.
    pub option: String,
    /// Whether all that can be measured without the step is measured, and nothing yet with it.
    pub waits: bool,
    /// The boots, in the order of measurement.
    pub boots: Vec<BootResult>,
    /// The effect of the step; null until each arm has a boot that was measured in full.
    pub estimate: Option<BootEstimate>,
}

/// The last state in one boot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BootResult {
    /// Whether the step was taken in it.
    pub has_step: bool,
    /// CPU time of the target per request, µs, over the blocks of the last state and of its
    /// control, which is identical.
    pub server_cpu_us_per_request: Option<Estimate>,
    /// Answers per second, requests/s: median over all blocks of the boot.
    pub throughput_rps: Option<Estimate>,
    /// The last state against itself: its drift within the boot.
    pub control: Judged,
    /// Whether the last state differed from itself at the 0.5 % level; then the figures of this
    /// boot are of two states of the machine.
    pub drifted: bool,
    /// Rounds measured, count.
    pub rounds_done: u32,
    /// Rounds of the plan, count.
    pub rounds_planned: u32,
}

/// The last state with the step ÷ without it, from the medians of boots.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BootEstimate {
    /// The ratio for the outcome that verdicts are about, from geometric means over boots.
    pub ratio: f64,
    /// Boots without the step, count.
    pub without: u32,
    /// Boots with the step, count.
    pub with: u32,
    /// Largest ratio between two boots of one arm, larger ÷ smaller. `None` while each arm has only
    /// one boot, so that it is not known how much boots differ anyway.
    pub same_arm_ratio: Option<f64>,
    /// 95 % interval of the ratio by Welch's t over boots; null below four boots per arm.
    pub interval: Option<[f64; 2]>,
}
