//! The judgement of a run: everything a report shows, and the shape of `--json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod boots;
mod capacity;
mod factorial;
mod ladder;
mod scale;
mod sweep;

pub use boots::{BetweenBoots, BootEstimate, BootResult};
pub use capacity::{Hysteresis, Likely, LoadSlo, SloBlock, TallyShape};
pub use factorial::{
    ArmFigures, Beside, Change, ExactChange, FACTORIAL_FORMAT, FactorialJudgement, Figure,
    InteractionResult, Judged, JudgedSquare, LevelResult, Levels, MeanResult, MetricInfo, Together,
};

pub use ladder::{Confirmed, LadderJudgement, Rung, StepsTogether};
pub use scale::{Scale, ScaleLevel};
pub use sweep::{
    KneeShape, LevelShape, LoadSweep, PeakSeen, QuantileShape, RoundsEstimate, SweepBlock, UslShape,
};

use crate::ceiling::ArmCeilings;
use crate::doubt::Doubt;
use crate::gate::GateResult;
use crate::study::{Published, Role};
use crate::verdict::{Effect, Estimate, Verdict};

/// The version of the shape of `--json`.
pub const JUDGEMENT_FORMAT: u32 = 1;

/// The judgement of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judgement {
    /// Shape of this value; see [`JUDGEMENT_FORMAT`].
    pub format: u32,
    /// The outcome that verdicts are about; throughput if the CPU time of the target is hidden.
    pub outcome: Outcome,
    /// The figures of each arm, in the study's order; for a whole ladder, of the arms of its climb.
    pub arms: Vec<ArmResult>,
    /// Each arm that is compared with another, except the control.
    pub steps: Vec<StepResult>,
    /// The last step against the baseline.
    pub whole: Option<StepResult>,
    /// The control against the baseline; its interval is the noise floor.
    pub control: Option<StepResult>,
    /// The smallest effect that these pairs could see with 80 % power, as a share.
    pub smallest_visible: Option<f64>,
    /// Latency of the arms that were run in latency mode.
    pub latency: Vec<LatencyResult>,
    /// How often running A n times, then B n times, with Welch's t-test at 5 %, calls the baseline
    /// and its identical control different.
    pub sequential: Option<SequentialError>,
    /// The most that each resource lets an arm do; absent if nothing is known of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ceilings: Vec<ArmCeilings>,
    /// For a whole ladder, its judgement apart from the climb; absent for any other run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ladder: Option<LadderJudgement>,
    /// For arms that differ only in their number of workers, what further workers bring; absent for
    /// any other run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<Scale>,
    /// For a gate between two commits, whether the second passes; absent for any other run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateResult>,
    /// Rounds measured, count.
    pub rounds_done: u32,
    /// Rounds of the plan, count.
    pub rounds_planned: u32,
    /// What a sceptic would ask about.
    pub doubts: Vec<Doubt>,
}

/// The figure that is compared. All are from the same pairs; the most trustworthy comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    ServerCpuPerRequest,
    /// For a server under its own traffic: CPU time per 1,000 bytes of payload that its connections
    /// carried. Everything that the judgement calls per request is then per such a kilobyte.
    ServerCpuPerKilobyte,
    /// Used if the target's CPU time is hidden.
    Throughput,
}

/// One arm's figures over its blocks: medians with order-statistic intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArmResult {
    /// Short stable name.
    pub name: String,
    /// Title for a reader.
    pub title: String,
    /// What the arm is for.
    pub role: Role,
    /// CPU time of the target per answer, µs: median over blocks.
    pub server_cpu_us_per_request: Option<Estimate>,
    /// CPU time of the load generator per answer, µs: median over blocks.
    pub client_cpu_us_per_request: Option<Estimate>,
    /// CPU time of all CPUs of the server's host per answer; absent where it is hidden, and in
    /// older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineResult>,
    /// Answers per second, requests/s: median over blocks.
    pub throughput_rps: Option<Estimate>,
    /// 1e6 ÷ server CPU per request: the rate that one server CPU could carry if it did nothing
    /// else. It is implied and was not measured.
    pub implied_rps_per_cpu: Option<Estimate>,
    /// CPU per request of the bare echo ÷ CPU per request of this arm, from pairs: 1 is the
    /// kernel's floor.
    pub share_of_floor: Option<Estimate>,
    /// Median share of the time for which the client had its CPU, 0 to 1.
    pub client_busy_share: Option<f64>,
    /// The article's figure, if any.
    pub published: Option<Published>,
}

/// The CPU time of a whole machine per answer, µs; see [`crate::reading::MachineCpu`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineResult {
    /// User, system, irq and softirq, µs: median over blocks.
    pub cpu_us_per_request: Estimate,
    /// User part, µs. The parts are over all blocks together, since one block is too short for the
    /// ticks in which they are counted.
    pub user_us_per_request: f64,
    /// System part, the kernel for programs and its own threads, µs.
    pub system_us_per_request: f64,
    /// Part of interrupts, µs.
    pub irq_us_per_request: f64,
    /// Part of softirqs, the work that interrupts leave for later, µs.
    pub softirq_us_per_request: f64,
    /// Time taken by the hypervisor, µs; it is not part of the sum.
    pub stolen_us_per_request: f64,
}

/// One arm against another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepResult {
    /// Name of the arm.
    pub arm: String,
    /// Words for a reader.
    pub title: String,
    /// Name of the arm it is compared with.
    pub against: String,
    /// What the comparison came to.
    pub verdict: Verdict,
    /// Effect on the outcome that the verdict is about; below 1 is better for CPU, above 1 for
    /// throughput.
    pub effect: Option<Effect>,
    /// Effect on server CPU per request; below 1 is better.
    pub server_cpu: Option<Effect>,
    /// Effect on client CPU per request; below 1 is better.
    pub client_cpu: Option<Effect>,
    /// Effect on throughput; above 1 is better.
    pub throughput: Option<Effect>,
    /// The article's figure, if any.
    pub published: Option<Published>,
}

/// Latency of one arm, pooled over its latency blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyResult {
    /// Name of the arm.
    pub arm: String,
    /// Words for a reader.
    pub title: String,
    /// Rate that was offered, requests/s.
    pub offered_rps: f64,
    /// Rate that was answered, requests/s.
    pub achieved_rps: f64,
    /// Number of requests behind the quantiles, count.
    pub requests: u64,
    /// Share of the requests sent that failed and have no response time: all failures but timeouts,
    /// which count with the time that they waited.
    #[serde(default)]
    pub lost_share: f64,
    /// Whether the load generator was at its own limit in more than a tenth of the blocks; then
    /// requests may have been late because of it.
    #[serde(default)]
    pub client_is_limit: bool,
    /// Response time, from the intended send: only the quantiles that have enough data.
    pub response: Vec<QuantileEstimate>,
    /// Service time, from the actual send to the last byte.
    pub service: Vec<QuantileEstimate>,
    /// Lateness, from the intended to the actual send.
    pub lateness: Vec<QuantileEstimate>,
    /// The curve of response times: share of requests answered within a time, shortest first.
    pub response_curve: Vec<CurvePoint>,
}

/// A quantile in nanoseconds with its order-statistic interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuantileEstimate {
    /// The share that it belongs to, 0 to 1: 0.99 is p99.
    pub quantile: f64,
    /// The quantile, ns.
    pub value_ns: u64,
    /// Lower end of its order-statistic interval, ns.
    pub low_ns: u64,
    /// Upper end of the same interval, ns.
    pub high_ns: u64,
}

/// A point of a latency curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CurvePoint {
    /// Share of the requests, 0 to 1.
    pub quantile: f64,
    /// Time within which that share was answered, ns.
    pub latency_ns: u64,
}

/// How often "run A n times, then B n times" with Welch's t-test at 5 % calls two identical arms
/// different, on this run's own baseline and control blocks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SequentialError {
    /// Blocks per arm, count.
    pub n: u32,
    /// Windows that were tried, count; they overlap.
    pub windows: u32,
    /// Windows in which the test declared a difference, count.
    pub declared: u32,
}
