//! The judgement of a factorial run: the shape of `--json` for such runs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SequentialError;
use crate::ceiling::ArmCeilings;
use crate::command_study::Better;
use crate::doubt::Doubt;
use crate::reading::MachineRuns;
use crate::study::Role;
use crate::verdict::{Effect, Estimate, Verdict};

/// The version of the shape of [`FactorialJudgement`].
pub const FACTORIAL_FORMAT: u32 = 1;

/// Names of levels by the names of their factors.
pub type Levels = BTreeMap<String, String>;

/// The judgement of one factorial run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FactorialJudgement {
    /// Shape of this value; see [`FACTORIAL_FORMAT`].
    pub format: u32,
    /// The factor whose levels are compared.
    pub compare: String,
    /// The metrics: verdicts are about the first, and those that are always recorded come last.
    pub metrics: Vec<MetricInfo>,
    /// The figures of each arm, in the study's order.
    pub arms: Vec<ArmFigures>,
    /// Each level of the compared factor against another, cell by cell.
    pub contrasts: Vec<LevelResult>,
    /// Each level against another, averaged over the levels of one factor, where the study asks for
    /// it.
    pub means: Vec<MeanResult>,
    /// The combined effect of two factors, where the study asks for it.
    pub interactions: Vec<InteractionResult>,
    /// The most that each resource lets an arm do, where the study asks for it; absent for none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ceilings: Vec<ArmCeilings>,
    /// The control against the baseline; its interval is the noise floor.
    pub control: Option<LevelResult>,
    /// The smallest effect that these pairs could see with 80 % power, as a share.
    pub smallest_visible: Option<f64>,
    /// How often running A n times, then B n times, with Welch's t-test at 5 %, calls the baseline
    /// and its identical control different.
    pub sequential: Option<SequentialError>,
    /// Rounds in which every arm was run, count.
    pub rounds_done: u32,
    /// Rounds of the plan, count.
    pub rounds_planned: u32,
    /// What a sceptic would ask about.
    pub doubts: Vec<Doubt>,
}

/// A metric of a command, as it is described to readers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricInfo {
    /// Short stable name, which ends with the unit.
    pub name: String,
    /// Title for a reader.
    pub title: String,
    /// Unit of every value of this metric.
    pub unit: String,
    /// Whether lower or higher is better.
    pub better: Better,
}

/// One arm's figures over its runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArmFigures {
    /// Short stable name.
    pub name: String,
    /// Title for a reader.
    pub title: String,
    /// What the arm is for.
    pub role: Role,
    /// Its level of every factor.
    pub levels: Levels,
    /// The metrics that the arm has, in the order of the metrics.
    pub figures: Vec<Figure>,
    /// CPU time of all CPUs of the host while its commands ran; `None` where they are hidden, and
    /// in older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineRuns>,
    /// Runs, count.
    pub runs: u32,
    /// Runs that failed and therefore have no figures, count.
    pub failed: u32,
}

/// One metric of an arm, in the metric's unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// Name of the metric.
    pub metric: String,
    /// Median over runs with its order-statistic interval, in the metric's unit.
    pub estimate: Estimate,
    /// Whether two or more runs all have the same value: a fact, not an estimate.
    pub steady: bool,
}

/// One level against another of the same factor, with all other factors equal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LevelResult {
    /// The level of each other factor.
    pub cell: Levels,
    /// Name of the arm.
    pub arm: String,
    /// Name of its level.
    pub level: String,
    /// Name of the level that it is compared with.
    pub against: String,
    /// The verdict of the comparison.
    pub verdict: Verdict,
    /// Change of the metric that the verdict is about, at this contrast's share of the family's
    /// error.
    pub change: Change,
    /// Changes of all other metrics: estimates at 5 % each, without a verdict.
    pub beside: Vec<Beside>,
}

/// One value of a metric ÷ another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// From pairs of runs of one round.
    Estimated(Effect),
    /// Neither value ever varies: the two values, without an interval.
    Exact(ExactChange),
    /// No round has both values.
    Unknown,
}

impl Change {
    /// The estimate, if this is one.
    pub fn effect(&self) -> Option<&Effect> {
        match self {
            Self::Estimated(effect) => Some(effect),
            Self::Exact(_) | Self::Unknown => None,
        }
    }

    /// The ratio of the two values; `None` if there is no such number.
    pub fn ratio(&self) -> Option<f64> {
        let ratio = match self {
            Self::Estimated(effect) => effect.ratio,
            Self::Exact(exact) => exact.value / exact.against,
            Self::Unknown => return None,
        };
        (ratio.is_finite() && ratio > 0.0).then_some(ratio)
    }
}

/// Two values that were the same in every run of their arms.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExactChange {
    /// The value, in the metric's unit.
    pub value: f64,
    /// The value of the reference, in the metric's unit.
    pub against: f64,
    /// Rounds that have both values, count.
    pub n: u32,
}

/// A contrast on a metric that no verdict is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Beside {
    /// Name of the metric.
    pub metric: String,
    /// Change of that metric.
    pub change: Change,
}

/// The geometric mean of one level's ratios to another over the levels of a further factor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeanResult {
    /// Levels of the factors that are neither compared nor averaged over.
    pub cell: Levels,
    /// Name of the level.
    pub level: String,
    /// Name of the level that it is compared with.
    pub against: String,
    /// Name of the factor averaged over.
    pub over: String,
    /// The levels that it is averaged over.
    pub of: Vec<String>,
    /// The levels that are left out, because too few rounds have them.
    pub without: Vec<String>,
    /// The verdict on the mean.
    pub verdict: Verdict,
    /// The mean ratio, from rounds that have all these levels.
    pub effect: Option<Effect>,
}

/// Two factors with two levels each: the effect of each alone, and of both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InteractionResult {
    /// The level of each other factor.
    pub cell: Levels,
    /// The two factors, each with its second level against its first.
    pub factors: [String; 2],
    #[serde(flatten)]
    pub square: JudgedSquare,
}

/// Two changes of one state: two factors within a cell of the others, or two steps on the first
/// state.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgedSquare {
    /// How the two changes relate to each other.
    pub together: Together,
    /// Each change alone, against the state without either.
    pub alone: [Judged; 2],
    /// Both changes, against the state without either.
    pub both: Judged,
    /// Both ÷ the product of each alone: 1 is no interaction.
    pub interaction: Judged,
}

/// An effect with its verdict.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judged {
    /// The verdict.
    pub verdict: Verdict,
    /// The effect, from pairs of runs of one round; null without pairs.
    pub effect: Option<Effect>,
}

impl Judged {
    /// The judgement of something that was not measured.
    pub const NONE: Self = Self {
        verdict: Verdict::Invalid,
        effect: None,
    };
}

/// How two changes relate to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Together {
    /// Both together are better, and neither is by itself; each of these is shown.
    OnlyTogether,
    /// Together they are better than the product of each alone.
    MoreTogether,
    /// Together they are worse than the product of each alone.
    LessTogether,
    /// Each has the same effect with the other as alone, as far as matters.
    Independent,
    /// The data could not tell.
    Inconclusive,
    /// Void; the doubts say why.
    Invalid,
}
