//! What the judge made of a run: everything a report shows, and the shape of `--json`.

use serde::{Deserialize, Serialize};

mod boots;
mod factorial;
mod ladder;

pub use boots::{BetweenBoots, BootEstimate, BootResult};
pub use factorial::{
    ArmFigures, Beside, Change, ExactChange, FACTORIAL_FORMAT, FactorialJudgement, Figure,
    InteractionResult, Judged, LevelResult, Levels, MeanResult, MetricInfo, Together,
};

pub use ladder::{Confirmed, LadderJudgement, Rung, StepsTogether};

use crate::doubt::Doubt;
use crate::study::{Published, Role};
use crate::verdict::{Effect, Estimate, Verdict};

/// The version of the shape of `--json`.
pub const JUDGEMENT_FORMAT: u32 = 1;

/// The judgement of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// Shape of this value; see [`JUDGEMENT_FORMAT`].
    pub format: u32,
    /// The outcome that verdicts are about.
    pub outcome: Outcome,
    /// One per arm, in the study's order; of a whole ladder, those of its climb.
    pub arms: Vec<ArmResult>,
    /// One per arm that is compared with another, control left out.
    pub steps: Vec<StepResult>,
    /// The last step against the baseline.
    pub whole: Option<StepResult>,
    /// The control against the baseline; its interval is the noise floor.
    pub control: Option<StepResult>,
    /// The smallest effect that these pairs could see with 80 % power, as a share.
    pub smallest_visible: Option<f64>,
    /// Latency of the arms that were run in latency mode.
    pub latency: Vec<LatencyResult>,
    /// What a sequential comparison would have said of two identical arms.
    pub sequential: Option<SequentialError>,
    /// Of a whole ladder, what stands besides its climb.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ladder: Option<LadderJudgement>,
    pub rounds_done: u32,
    pub rounds_planned: u32,
    pub doubts: Vec<Doubt>,
}

/// What is compared; of the same pairs, in this order of trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    ServerCpuPerRequest,
    /// Where the target's CPU time is hidden.
    Throughput,
}

/// One arm's figures over its blocks: medians with order-statistic intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArmResult {
    pub name: String,
    pub title: String,
    pub role: Role,
    pub server_cpu_us_per_request: Option<Estimate>,
    pub client_cpu_us_per_request: Option<Estimate>,
    /// What stands beside both: all CPUs of the server's host; `None` where they are hidden.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineResult>,
    pub throughput_rps: Option<Estimate>,
    /// 1e6 ÷ server CPU per request: the rate that one server CPU could carry, were it all used
    /// for this. Implied, not seen.
    pub implied_rps_per_cpu: Option<Estimate>,
    /// CPU per request of the bare echo ÷ that of this arm, from pairs: 1 is the kernel's floor.
    pub share_of_floor: Option<Estimate>,
    /// Median share of the time for which the client had its CPU.
    pub client_busy_share: Option<f64>,
    pub published: Option<Published>,
}

/// The CPU time of a whole machine per answer, µs; see [`crate::reading::MachineCpu`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineResult {
    /// Everything but what was stolen: median over blocks.
    pub cpu_us_per_request: Estimate,
    /// The parts, over all blocks together, as a block is too short for the ticks they are counted in.
    pub user_us_per_request: f64,
    pub system_us_per_request: f64,
    pub irq_us_per_request: f64,
    pub softirq_us_per_request: f64,
    pub stolen_us_per_request: f64,
}

/// One arm against another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepResult {
    pub arm: String,
    pub title: String,
    pub against: String,
    pub verdict: Verdict,
    /// On the outcome that the verdict is about; below 1 is better for CPU, above 1 for
    /// throughput.
    pub effect: Option<Effect>,
    pub server_cpu: Option<Effect>,
    pub client_cpu: Option<Effect>,
    pub throughput: Option<Effect>,
    pub published: Option<Published>,
}

/// Latency of one arm, pooled over its latency blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyResult {
    pub arm: String,
    pub title: String,
    pub offered_rps: f64,
    pub achieved_rps: f64,
    pub requests: u64,
    /// From the intended send: only the quantiles that the data carry.
    pub response: Vec<QuantileEstimate>,
    /// From the actual send.
    pub service: Vec<QuantileEstimate>,
    pub lateness: Vec<QuantileEstimate>,
    /// The curve: share of requests answered within so many ns, shortest first.
    pub response_curve: Vec<CurvePoint>,
}

/// A quantile in nanoseconds with its order-statistic interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuantileEstimate {
    /// 0 to 1: 0.99 is p99.
    pub quantile: f64,
    pub value_ns: u64,
    pub low_ns: u64,
    pub high_ns: u64,
}

/// A point of a latency curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    pub quantile: f64,
    pub latency_ns: u64,
}

/// How often "run A n times, then B n times" with Welch's t-test at 5 % calls two identical arms
/// different, on this run's own baseline and control blocks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SequentialError {
    /// Blocks per arm.
    pub n: u32,
    /// Windows tried; they overlap.
    pub windows: u32,
    /// Windows in which a difference was declared.
    pub declared: u32,
}
