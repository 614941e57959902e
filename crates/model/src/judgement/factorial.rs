//! What the judge made of a factorial run: the shape of `--json` for such runs.

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
    /// Verdicts are about the first; those that are always recorded come last.
    pub metrics: Vec<MetricInfo>,
    /// One per arm, in the study's order.
    pub arms: Vec<ArmFigures>,
    /// Each level of the compared factor against another, cell by cell.
    pub contrasts: Vec<LevelResult>,
    /// Each level against another over the cells of one factor, where the study asks for it.
    pub means: Vec<MeanResult>,
    /// What two factors do together, where the study asks for it.
    pub interactions: Vec<InteractionResult>,
    /// What each resource lets an arm do at most, where the study asks for it; absent for none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ceilings: Vec<ArmCeilings>,
    /// The baseline against itself; its interval is the noise floor.
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

/// A metric of a command, as readers are told of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricInfo {
    /// Short stable name, its unit last.
    pub name: String,
    /// Words for a reader.
    pub title: String,
    /// Unit of every value of this metric.
    pub unit: String,
    /// Which way it is better.
    pub better: Better,
}

/// One arm's figures over its runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArmFigures {
    /// Short stable name.
    pub name: String,
    /// Words for a reader.
    pub title: String,
    /// What the arm is for.
    pub role: Role,
    /// Its level of every factor.
    pub levels: Levels,
    /// In the order of the metrics, those that it has.
    pub figures: Vec<Figure>,
    /// All CPUs of the host while its commands ran; `None` where they are hidden, and in older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineRuns>,
    /// Runs, count.
    pub runs: u32,
    /// Runs that failed, and so have no figures.
    pub failed: u32,
}

/// One metric of an arm, in the metric's unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// Name of the metric.
    pub metric: String,
    /// Median over runs with its order-statistic interval, in the metric's unit.
    pub estimate: Estimate,
    /// Whether every run, of two or more, has the same value: a fact, not an estimate.
    pub steady: bool,
}

/// One level against another of the same factor, all other factors alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LevelResult {
    /// Levels of the other factors.
    pub cell: Levels,
    /// Name of the arm.
    pub arm: String,
    /// Name of its level.
    pub level: String,
    /// Name of the level it is compared with.
    pub against: String,
    /// What the comparison came to.
    pub verdict: Verdict,
    /// On the metric that the verdict is about, at this contrast's share of the family's error.
    pub change: Change,
    /// On all other metrics: estimates at 5 % each, without a verdict.
    pub beside: Vec<Beside>,
}

/// How many times the one is of the other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// From pairs of runs of one round.
    Estimated(Effect),
    /// Neither ever varies: the two values, and no interval.
    Exact(ExactChange),
    /// No round has both.
    Unknown,
}

impl Change {
    /// The estimate, where it is one.
    pub fn effect(&self) -> Option<&Effect> {
        match self {
            Self::Estimated(effect) => Some(effect),
            Self::Exact(_) | Self::Unknown => None,
        }
    }

    /// How many times the one is of the other; `None` where there is no such number.
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
    /// Rounds that have both.
    pub n: u32,
}

/// A contrast on a metric that no verdict is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Beside {
    /// Name of the metric.
    pub metric: String,
    /// How many times the one is of the other.
    pub change: Change,
}

/// The geometric mean of one level's ratios to another over the levels of a further factor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeanResult {
    /// Levels of the factors that are neither compared nor averaged over.
    pub cell: Levels,
    /// Name of the level.
    pub level: String,
    /// Name of the level it is compared with.
    pub against: String,
    /// Name of the factor averaged over.
    pub over: String,
    /// The levels that it is over.
    pub of: Vec<String>,
    /// The levels that it is not over, because too few rounds have them.
    pub without: Vec<String>,
    /// What it came to.
    pub verdict: Verdict,
    /// The mean ratio, from rounds that have all it is over.
    pub effect: Option<Effect>,
}

/// Two factors of two levels: what each does alone, and what both do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InteractionResult {
    /// Levels of the factors beside the two.
    pub cell: Levels,
    /// The two factors, each with its second level against its first.
    pub factors: [String; 2],
    #[serde(flatten)]
    pub square: JudgedSquare,
}

/// Two changes of one state: two factors in a cell of the others, or two steps on the first state.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgedSquare {
    /// What the two are to one another.
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
    /// What it came to.
    pub verdict: Verdict,
    /// From pairs of runs of one round; null without pairs.
    pub effect: Option<Effect>,
}

impl Judged {
    /// Of what was not measured.
    pub const NONE: Self = Self {
        verdict: Verdict::Invalid,
        effect: None,
    };
}

/// What two factors are to one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Together {
    /// Both are better, and neither is by itself: each of these is shown.
    OnlyTogether,
    /// Together they are better than the product of each alone.
    MoreTogether,
    /// Together they are worse than the product of each alone.
    LessTogether,
    /// Each does by the other's side what it does alone, as far as matters.
    Independent,
    /// The data could not tell.
    Inconclusive,
    /// Void; the doubts say why.
    Invalid,
}
