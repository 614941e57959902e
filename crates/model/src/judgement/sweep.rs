//! The result of a sweep over levels of load: the shape of `linerate load --sweep --json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::QuantileEstimate;
use crate::doubt::WordedDoubt;
use crate::load_run::HttpVersion;
use crate::reading::MachinePerUnit;
use crate::sweep::Axis;
use crate::verdict::Estimate;
use crate::workload::Arrivals;

/// A sweep over levels of load: throughput, latency and CPU time of each, the knee and the
/// Universal Scalability Law.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LoadSweep {
    /// Version of the program.
    pub linerate_version: String,
    /// What was loaded: the URL without its query.
    pub target: String,
    /// The address that was loaded, as ADDR:PORT, or as unix:PATH.
    pub address: String,
    /// What was swept, as it can be typed again.
    pub sweep: String,
    /// What differs between levels: connections in closed loop, or requests/s offered in open
    /// loop.
    pub axis: Axis,
    /// Version of HTTP that was asked for.
    pub http: HttpVersion,
    /// Requests under way at once on each connection, count; 1 for HTTP/1.1 without --pipeline.
    pub streams: u32,
    /// Connections held open at each rate, count; null for a sweep of connections.
    pub connections: Option<u32>,
    /// How the requests are spread over time; null for a sweep of connections.
    pub arrivals: Option<Arrivals>,
    /// Most load threads, count.
    pub threads: u32,
    /// Rounds asked for, count.
    pub rounds: u32,
    /// Seed of the order of levels, of Poisson arrivals and of the intervals.
    pub seed: u64,
    /// Load before each block's scored window, s.
    pub settle_seconds: f64,
    /// Length of each block's scored window, s.
    pub block_seconds: f64,
    /// Whether all rounds were measured; false when a signal ended it.
    pub is_over: bool,
    /// Every level, the lowest load first.
    pub levels: Vec<LevelShape>,
    /// Where throughput over time to an answer is highest.
    pub knee: KneeShape,
    /// The Universal Scalability Law; null for a sweep of rates, or if fewer than six levels
    /// support it.
    pub usl: Option<UslShape>,
    /// Every block, in the order in which it was measured.
    pub blocks: Vec<SweepBlock>,
    /// What a sceptic would ask about.
    pub doubts: Vec<WordedDoubt>,
    /// Remarks about how it was measured.
    pub notes: Vec<String>,
}

/// One block at one level.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SweepBlock {
    /// The round, from 1 on.
    pub round: u32,
    /// The load: connections, or requests/s offered.
    pub load: f64,
    /// Right answers per second of the scored window, requests/s.
    pub throughput_rps: f64,
    /// CPU time of the target's processes per right answer, µs; null where they are remote or
    /// may not be seen.
    pub server_cpu_us_per_request: Option<f64>,
    /// CPU time of the client per right answer, µs; null where there was none.
    pub client_cpu_us_per_request: Option<f64>,
    /// Whether the client was at its limit.
    pub client_is_limit: bool,
    /// Share of the requests sent that failed, settling included, 0 to 1.
    pub failed_share: f64,
}

/// Where throughput is highest, compared with the levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PeakSeen {
    /// Within the levels, with the whole interval.
    Within,
    /// Perhaps above or below the levels.
    Outside,
    /// Throughput was not seen to fall.
    NotSeen,
}

/// X(N) = λN / (1 + σ(N − 1) + κN(N − 1)), fitted by least squares on the logarithms. N is the
/// connections of a sweep, or the workers of a target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UslShape {
    /// λ: rate with one connection or worker, as fitted, requests/s.
    pub lambda_rps: RoundsEstimate,
    /// σ, contention: the share of the work that is serial, 0 or more.
    pub sigma: RoundsEstimate,
    /// κ, coherency: what each pair costs each other, 0 or more.
    pub kappa: RoundsEstimate,
    /// Whether throughput peaks within the levels, perhaps outside them, or was not seen to fall.
    pub peak: PeakSeen,
    /// √((1 − σ)/κ), the number at which throughput peaks; null unless the peak is within the
    /// levels.
    pub peak_at: Option<RoundsEstimate>,
    /// Largest deviation of the law from a level, as a share of the measured value.
    pub worst_miss_share: f64,
}

/// Where more load costs more in waiting than it brings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct KneeShape {
    /// Whether it is within the levels, or where it may be instead.
    #[schemars(extend("enum" = ["within", "above", "below", "not_seen"]))]
    pub is: &'static str,
    /// The level, in the unit of `axis`; null unless it is within.
    pub load: Option<f64>,
    /// Lower end of its interval at 95 %, a level; null unless it is within.
    pub low: Option<f64>,
    /// Upper end of its interval at 95 %, a level; null unless it is within.
    pub high: Option<f64>,
}

/// One level of load over all rounds.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LevelShape {
    /// The load: connections, or requests/s offered.
    pub load: f64,
    /// Right answers per second, requests/s; null where a block had none.
    pub throughput_rps: Option<RoundsEstimate>,
    /// Median of the service time in closed loop, of the response time in open loop, µs; null
    /// where the data do not carry it.
    pub latency_us_p50: Option<QuantileShape>,
    /// p99 of the same time, µs; null where the data do not carry it.
    pub latency_us_p99: Option<QuantileShape>,
    /// CPU time of the target's processes per right answer, µs; null where they are remote or
    /// may not be seen.
    pub server_cpu_us_per_request: Option<RoundsEstimate>,
    /// CPU time of the client per right answer, µs; null where there was none.
    pub client_cpu_us_per_request: Option<RoundsEstimate>,
    /// CPU time of all CPUs of this machine per right answer, µs; null where it is hidden, or a
    /// block was too short for the ticks it is counted in.
    pub machine_cpu_us_per_request: Option<RoundsEstimate>,
    /// CPU time of all CPUs of this machine per right answer by its kinds, over all blocks together, µs;
    /// null where it is hidden.
    pub machine_us_per_request: Option<MachinePerUnit>,
    /// Whether the client was at its limit in at least half of the blocks; knee and law then leave
    /// the level out.
    pub client_is_limit: bool,
}

/// A quantile with its interval at 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct QuantileShape {
    /// The quantile, µs.
    pub value: f64,
    /// Lower end, µs.
    pub low: f64,
    /// Upper end, µs.
    pub high: f64,
}

/// A figure with its interval at 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoundsEstimate {
    /// The estimate, in the unit of the figure's name.
    pub value: f64,
    /// Lower end, in the same unit.
    pub low: f64,
    /// Upper end, in the same unit.
    pub high: f64,
    /// Rounds behind it, count.
    pub rounds: u32,
}

impl From<RoundsEstimate> for Estimate {
    fn from(of: RoundsEstimate) -> Self {
        Self {
            value: of.value,
            low: of.low,
            high: of.high,
            n: of.rounds,
        }
    }
}

impl From<QuantileEstimate> for QuantileShape {
    fn from(of: QuantileEstimate) -> Self {
        let micros = |ns: u64| ns as f64 / 1e3;
        Self {
            value: micros(of.value_ns),
            low: micros(of.low_ns),
            high: micros(of.high_ns),
        }
    }
}
