//! What drives a target, as data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cpus::Workers;
use crate::named::named;

/// An HTTP/1.1 request repeated over keep-alive connections.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Path and query of the request, from `/` on.
    #[serde(default = "root_path")]
    pub path: String,
    /// Connections held open at once.
    pub connections: u32,
    /// Load generator threads; connections are dealt evenly between them.
    #[serde(default = "one")]
    pub threads: u32,
    /// Workers of the target, where we start it; absent for one.
    #[serde(default, skip_serializing_if = "Workers::is_one")]
    pub workers: Workers,
}

fn root_path() -> String {
    "/".to_owned()
}

fn one() -> u32 {
    1
}

/// Who decides when the next request leaves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "loop", rename_all = "snake_case")]
pub enum Pace {
    /// Closed loop: each connection sends as soon as its answer is in. Measures capacity and CPU
    /// per request; its latencies leave out the waiting that a slow server causes.
    Closed,
    /// Open loop: requests are due on a schedule that the server cannot slow down.
    Open {
        /// Rate offered, requests/s.
        rate_rps: f64,
        /// How the due times are spread: evenly, or with exponential gaps.
        arrivals: Arrivals,
        /// Seed of Poisson arrivals.
        seed: u64,
    },
}

named! {
    /// How the due times of an open loop are spread.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum Arrivals, "spread of arrivals" {
        /// Evenly: one request every 1/rate seconds.
        #[default]
        Uniform = "uniform",
        /// Exponential gaps, like the requests of many independent users.
        Poisson = "poisson",
    }
}
