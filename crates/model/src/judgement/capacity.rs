//! The result of a search for a capacity: the shape of `linerate load --slo --json`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::doubt::WordedDoubt;
use crate::load_run::HttpVersion;
use crate::workload::Arrivals;

/// A search for the highest rate that holds an objective: what was asked for, what was found
/// and every block of it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LoadSlo {
    /// Version of the program.
    pub linerate_version: String,
    /// What was loaded: the URL without its query.
    pub target: String,
    /// The address that was loaded, as ADDR:PORT, or as unix:PATH.
    pub address: String,
    /// The objective, as it can be typed again.
    pub objective: String,
    /// Version of HTTP that was asked for.
    pub http: HttpVersion,
    /// Requests under way at once on each connection, count; 1 for HTTP/1.1 without --pipeline.
    pub streams: u32,
    /// Connections held open at once, count.
    pub connections: u32,
    /// Load threads, count.
    pub threads: u32,
    /// How the requests were spread over time.
    pub arrivals: Arrivals,
    /// Seed of Poisson arrivals and of the order of blocks.
    pub seed: u64,
    /// Load before each block's scored window, s.
    pub settle_seconds: f64,
    /// Length of each block's scored window, s.
    pub block_seconds: f64,
    /// What the connections carried in closed loop before the search, requests/s.
    pub closed_loop_rps: f64,
    /// What four times as many connections carried in closed loop, requests/s; null where so many
    /// cannot be opened.
    pub closed_loop_rps_at_four_times_the_connections: Option<f64>,
    /// The lowest rate that a block can judge, requests/s.
    pub lowest_rps: f64,
    /// The highest rate that the search would have tried, requests/s; the confirmation may go a
    /// tenth above it.
    pub highest_rps: f64,
    /// Whether the search reached its end; false when a signal ended it.
    pub is_over: bool,
    /// The highest rate that was confirmed to hold; null where none was.
    pub holds: Option<TallyShape>,
    /// The lowest rate that was confirmed to fail or could not be offered; null where none was.
    pub fails: Option<TallyShape>,
    /// Rates at which the blocks do not agree, or not yet.
    pub undecided: Vec<TallyShape>,
    /// The rates between which nine tenths of the bisection's weight lie; this is no confidence
    /// interval.
    pub likely_rps: Likely,
    /// A sign that the target stays slow once it was overloaded; null without one.
    pub hysteresis: Option<Hysteresis>,
    /// Every block of the search, in the order in which it was measured.
    pub blocks: Vec<SloBlock>,
    /// What a sceptic would ask about.
    pub doubts: Vec<WordedDoubt>,
    /// Remarks about how it was measured.
    pub notes: Vec<String>,
}

/// One block of load at one rate.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SloBlock {
    /// The rate that was to be offered, requests/s.
    pub rate_rps: f64,
    /// What the block was for.
    #[schemars(extend("enum" = ["bracketing", "narrowing", "confirming"]))]
    pub purpose: &'static str,
    /// What the block showed about the objective.
    #[schemars(extend("enum" = ["holds", "fails", "not_offered"]))]
    pub seen: &'static str,
    /// Whether the block counted in full: false if the client had to wait for its CPU.
    pub is_trusted: bool,
    /// Right answers per second of the scored window, requests/s.
    pub throughput_rps: f64,
    /// Median of the response time, from when a request was due, µs; null where fewer than ten
    /// observations lie beyond it.
    pub response_us_p50: Option<f64>,
    /// p99 of the response time, from when a request was due, µs; null where fewer than ten
    /// observations lie beyond it.
    pub response_us_p99: Option<f64>,
    /// Share of the requests sent that failed, settling included, 0 to 1.
    pub failed_share: f64,
    /// Share of the window in which the busiest load thread worked or waited for its CPU, 0 to
    /// 1.
    pub client_occupied_share: f64,
}

/// Rates that held while the load rose but failed when it came down again.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Hysteresis {
    /// The highest rate that held on the way up, requests/s.
    pub going_up_rps: f64,
    /// The highest rate that held on the way down from the first failure, requests/s.
    pub coming_down_rps: f64,
}

/// The rates between which nine tenths of the bisection's weight lie; this is no confidence
/// interval.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Likely {
    /// Lower rate, requests/s.
    pub low: f64,
    /// Higher rate, requests/s.
    pub high: f64,
}

/// The results of the blocks at one rate.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TallyShape {
    /// The rate that was offered, requests/s.
    pub rate_rps: f64,
    /// The result on which at least seven of eight blocks agree; null if they do not.
    #[schemars(extend("enum" = ["holds", "fails", "not_offered", null]))]
    pub agreed: Option<&'static str>,
    /// Blocks at this rate in the confirmation, count.
    pub blocks: u32,
    /// Blocks that held the objective, count.
    pub held: u32,
    /// Blocks that did not hold the objective, count.
    pub failed: u32,
    /// Blocks that did not hold it while the client or its connections were the limit, count.
    pub not_offered: u32,
}
