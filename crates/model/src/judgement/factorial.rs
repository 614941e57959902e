//! What the judge made of a factorial run: the shape of `--json` for such runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::SequentialError;
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// The baseline against itself; its interval is the noise floor.
    pub control: Option<LevelResult>,
    /// The smallest effect that these pairs could see with 80 % power, as a share.
    pub smallest_visible: Option<f64>,
    /// What a sequential comparison would have said of two identical arms.
    pub sequential: Option<SequentialError>,
    pub rounds_done: u32,
    pub rounds_planned: u32,
    pub doubts: Vec<Doubt>,
}

/// A metric of a command, as readers are told of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricInfo {
    pub name: String,
    pub title: String,
    pub unit: String,
    pub better: Better,
}

/// One arm's figures over its runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArmFigures {
    pub name: String,
    pub title: String,
    pub role: Role,
    pub levels: Levels,
    /// In the order of the metrics, those that it has.
    pub figures: Vec<Figure>,
    /// All CPUs of the host while its commands ran; `None` where they are hidden, and in older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineRuns>,
    pub runs: u32,
    /// Runs that failed, and so have no figures.
    pub failed: u32,
}

/// One metric of an arm, in the metric's unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    pub metric: String,
    /// Median with its order-statistic interval.
    pub estimate: Estimate,
    /// The same in every run, two or more: a fact, not an estimate.
    pub steady: bool,
}

/// One level against another of the same factor, all other factors alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelResult {
    /// Levels of the other factors.
    pub cell: Levels,
    pub arm: String,
    pub level: String,
    pub against: String,
    pub verdict: Verdict,
    /// On the metric that the verdict is about, at this contrast's share of the family's error.
    pub change: Change,
    /// On all other metrics: estimates at 5 % each, without a verdict.
    pub beside: Vec<Beside>,
}

/// How many times the one is of the other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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
    #[must_use]
    pub fn effect(&self) -> Option<&Effect> {
        match self {
            Self::Estimated(effect) => Some(effect),
            Self::Exact(_) | Self::Unknown => None,
        }
    }

    /// How many times the one is of the other; `None` where there is no such number.
    #[must_use]
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExactChange {
    pub value: f64,
    pub against: f64,
    /// Rounds that have both.
    pub n: u32,
}

/// A contrast on a metric that no verdict is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    pub metric: String,
    pub change: Change,
}

/// The geometric mean of one level's ratios to another over the levels of a further factor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeanResult {
    /// Levels of the factors that are neither compared nor averaged over.
    pub cell: Levels,
    pub level: String,
    pub against: String,
    pub over: String,
    /// The levels that it is over.
    pub of: Vec<String>,
    /// The levels that it is not over, because too few rounds have them.
    pub without: Vec<String>,
    pub verdict: Verdict,
    pub effect: Option<Effect>,
}

/// Two factors of two levels: what each does alone, and what both do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InteractionResult {
    /// Levels of the factors beside the two.
    pub cell: Levels,
    /// The two factors, each with its second level against its first.
    pub factors: [String; 2],
    pub together: Together,
    /// Second level of the first factor alone, of the second factor alone, and of both, each
    /// against the first level of both.
    pub alone: [Judged; 2],
    pub both: Judged,
    /// Both ÷ the product of each alone: 1 is no interaction.
    pub interaction: Judged,
}

/// An effect with its verdict.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    pub verdict: Verdict,
    pub effect: Option<Effect>,
}

/// What two factors are to one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
