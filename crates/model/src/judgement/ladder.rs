//! The judgement of a whole ladder, apart from its climb.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ArmResult;
use super::boots::BetweenBoots;
use super::factorial::{Judged, JudgedSquare};

/// The judgement of a whole ladder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LadderJudgement {
    /// Each step that was climbed, in order.
    pub rungs: Vec<Rung>,
    /// Each pair of steps that the study names, if both were climbed.
    pub together: Vec<StepsTogether>,
    /// The last state again, with restarted servers; null until its first round is complete.
    pub confirmed: Option<Confirmed>,
    /// The step that needs a reboot; absent where none was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between_boots: Option<BetweenBoots>,
}

/// One step by itself, at either end of the ladder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rung {
    /// Name of the step.
    pub step: String,
    /// Title of the step for a reader.
    pub title: String,
    /// Whether it made things worse, so that the last state goes without it.
    pub dropped: bool,
    /// The first state with this step alone, against the first state; `None` if the step changes
    /// nothing there.
    pub alone: Option<Judged>,
    /// The last state against the last state without this step; `None` if the step was dropped or
    /// this is not measured yet.
    pub at_the_top: Option<Judged>,
}

/// Two steps on the first state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepsTogether {
    /// Names of the two steps.
    pub steps: [String; 2],
    /// Their titles.
    pub titles: [String; 2],
    #[serde(flatten)]
    pub square: JudgedSquare,
}

/// The last state against the first, with restarted servers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Confirmed {
    /// The last state against the first.
    pub whole: Judged,
    /// The first state against itself.
    pub control: Judged,
    /// Figures of the first state.
    pub first: ArmResult,
    /// Figures of the last state.
    pub last: ArmResult,
    /// Rounds measured, count.
    pub rounds_done: u32,
    /// Rounds of the plan, count.
    pub rounds_planned: u32,
}
