//! A load of many blocks, as its run folder describes it: a sweep over levels, or a search for the
//! highest rate that holds an objective.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::objective::Objective;
use crate::run::RunRecord;
use crate::sweep::{Axis, Sweep};
use crate::workload::Arrivals;

/// A load of many blocks, as its run folder describes it. Its blocks have ordinary readings.
pub type SavedLoad = RunRecord<LoadStudy, Level>;

/// What is measured of a target, and how it is loaded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadStudy {
    /// The question.
    pub workload: LoadWorkload,
    /// The URL of the target without its query.
    pub target: String,
    /// The address that is loaded, as ADDR:PORT, or as unix:PATH.
    pub address: String,
    /// Version of HTTP that is asked for.
    pub http: HttpVersion,
    /// Requests under way at once on each connection, count; 1 for HTTP/1.1 without --pipeline.
    pub streams: u32,
    /// Connections held open at once, count; the most of them if they are swept.
    pub connections: u32,
    /// Most load threads, count.
    pub threads: u32,
    /// How the requests of an open loop are spread over time.
    pub arrivals: Arrivals,
    /// Load before each block's scored window, ns.
    pub settle_ns: u64,
    /// Length of each block's scored window, ns.
    pub score_ns: u64,
    /// Time after which an unanswered request has failed, ns.
    pub timeout_ns: u64,
    /// Distinguishes this load from one with another request, other CPUs for the load threads or
    /// another engine: the first digits of a hash. They are so few that many requests share them,
    /// so they reveal no secret in a request. Absent in older folders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
    /// Remarks about how it is measured, each a sentence.
    pub notes: Vec<String>,
}

/// The question of a load of many blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LoadWorkload {
    /// The figures of each level; each level is measured once per round, in random order.
    Sweep {
        /// The levels, from the lowest to the highest.
        range: Sweep,
        /// Rounds, count.
        rounds: u32,
    },
    /// The highest rate that holds an objective.
    Capacity {
        /// The objective that must hold.
        objective: Objective,
    },
}

/// A version of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum HttpVersion {
    #[serde(rename = "1.1")]
    One,
    #[serde(rename = "2")]
    Two,
}

/// One level of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Level {
    /// Name of the level in its blocks.
    pub name: String,
    /// The load: connections, or requests/s offered.
    pub load: f64,
}

impl Level {
    /// Lists all levels of a sweep, the lowest first.
    pub fn all_of(sweep: &Sweep) -> Vec<Self> {
        let unit = match sweep.axis {
            Axis::Connections => "connections",
            Axis::Rate => "requests/s",
        };
        let level = |load| Self {
            name: format!("{load} {unit}"),
            load,
        };
        sweep.loads().into_iter().map(level).collect()
    }
}
