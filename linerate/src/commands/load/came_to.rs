//! The result of one load, as JSON and as the data of its page.

use model::doubt::{WordedDoubt, worded};
use model::load_run::HttpVersion;
use model::reading::{Errors, MachineCpu, MachinePerUnit};
use model::request::MixSpec;
use model::{Histogram, Pace};
use schemars::JsonSchema;
use serde::Serialize;
use traffic::load::{Handshakes, LoadOutcome, LoadPlan, Probe};
use traffic::tls::Agreed;

use super::mix::{self, MixShape};
use super::target::Target;
use crate::commands::quantiles::Quantiles;
use crate::shape;

/// A quantile that moves by less than this factor is reported as it is.
const ABOUT: f64 = 1.05;

/// One load: what was asked for and how it went.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LoadResult {
    /// Version of the program.
    linerate_version: &'static str,
    /// What was loaded: the URL without its query.
    target: String,
    /// The address that was loaded, as ADDR:PORT, or as unix:PATH.
    address: String,
    /// Closed or open loop.
    pace: Pace,
    /// What carried the bytes.
    #[schemars(extend("enum" = ["epoll", "uring"]))]
    engine: &'static str,
    /// Version of HTTP that was asked for.
    http: HttpVersion,
    /// Requests under way at once on each connection, count; 1 for HTTP/1.1 without --pipeline.
    streams: u32,
    /// Connections held open at once, count.
    connections: u32,
    /// Load threads, count.
    threads: u32,
    /// Load before the scored window, s.
    settle_seconds: f64,
    /// Requests asked for by -n, count; null for a load of a given time.
    requests_asked: Option<u64>,
    /// Length of the scored window as it was, s.
    window_seconds: f64,
    /// The first answer, before the load.
    look: FirstAnswer,
    /// HTTP status of the first answer; 0 when there was none.
    first_status: u16,
    /// Requests sent, settling included, count.
    sent: u64,
    /// Right answers, settling included, count.
    answered: u64,
    /// Requests without a right answer, settling included, by what became of them.
    errors: Errors,
    /// Open loop: requests that were due in the scored window and were never sent, count.
    due_unsent: u64,
    /// Open loop: requests in `latency_us.response` without an answer: never sent, given up, or
    /// still under way at the end. They are in it with the time for which they had waited, which is
    /// too low; count.
    due_unanswered: u64,
    /// Right answers within the scored window, count.
    answered_in_window: u64,
    /// Bytes received within the scored window: heads, bodies and chunk framing.
    received_bytes: u64,
    /// Bytes received per second of the scored window, bytes/s.
    received_bytes_per_second: f64,
    /// Right answers per second of the scored window, requests/s.
    throughput_rps: f64,
    /// CPU time of the client per right answer, µs; null when there was none.
    client_cpu_us_per_request: Option<f64>,
    /// CPU time of all CPUs of this machine per right answer, µs; null where it is hidden, where
    /// there was no right answer, or where the ticks that it is counted in missed so much that it
    /// is less than nine tenths of the client's.
    machine_us_per_request: Option<MachinePerUnit>,
    /// Share of the window in which the busiest load thread worked, 0 to 1.
    client_busy_share: f64,
    /// Share of the window in which that thread worked or was ready to run while something else had its
    /// CPU, 0 to 1.
    client_occupied_share: f64,
    /// Quantiles of the scored window, µs.
    latency_us: Latency,
    /// Connections opened for the first time, count.
    connections_opened: u64,
    /// Attempts to connect that failed, count.
    connections_failed: u64,
    /// Connections opened again, count.
    connections_reopened: u64,
    /// TLS of the load; null without TLS.
    tls: Option<Tls>,
    /// Requests of several kinds, or with numbers to draw; null for one and the same request.
    mix: Option<MixShape>,
    /// Right answers in each 100 ms from the start on, settling included, count.
    answered_per_100_ms: Vec<u64>,
    /// What makes the figures doubtful.
    doubts: Vec<WordedDoubt>,
    /// Remarks about how it was measured.
    notes: Vec<String>,
}

/// The first answer to the request, before the load.
#[derive(Serialize, JsonSchema)]
struct FirstAnswer {
    /// Its HTTP status.
    status: u16,
    /// Its head and its body, bytes.
    response_bytes: u64,
    /// Its body, bytes.
    body_bytes: u64,
}

/// TLS of a load: what the first handshake agreed on, and all handshakes of the load.
#[derive(Serialize, JsonSchema)]
struct Tls {
    #[serde(flatten)]
    agreed: Agreed,
    /// Handshakes that were done, settling included, count.
    handshakes: Option<u64>,
    /// Those of them that resumed an earlier session, count.
    resumed: Option<u64>,
    /// From the connection to the end of its handshake, while others were opened too, µs.
    handshake_us: Option<Counted>,
}

/// Quantiles of the scored window, µs.
#[derive(Serialize, JsonSchema)]
struct Latency {
    /// From the actual send to the last byte of the answer; null in throughput mode.
    service: Option<Counted>,
    /// Open loop only: from the moment it was due to the last byte.
    response: Option<Counted>,
    /// Open loop only: from the moment it was due to the actual send.
    lateness: Option<Counted>,
}

/// Quantiles of one distribution, and how many values are behind them.
#[derive(Serialize, JsonSchema)]
struct Counted {
    /// Requests, or handshakes, behind the quantiles, count.
    count: u64,
    #[serde(flatten)]
    quantiles: Quantiles,
}

impl LoadResult {
    pub(super) fn of(
        (target, plan): (&Target, &LoadPlan),
        outcome: &LoadOutcome,
        machine: Option<MachineCpu>,
        mix: Option<&MixSpec>,
        notes: Vec<String>,
    ) -> Self {
        let first = &target.look.first;
        let per_request_us = |cpu_ns: u64| {
            let answered = outcome.answered;
            (answered > 0).then(|| cpu_ns as f64 / 1e3 / answered as f64)
        };
        // Ticks may miss a tenth of a load that lasts seconds.
        let is_whole = |spent: &MachineCpu| spent.busy_ns() >= outcome.client_cpu_ns / 10 * 9;
        let latency = outcome.latency.as_ref();
        let is_open = matches!(plan.pace, Pace::Open { .. });
        let open_only = |histogram| is_open.then(|| counted(histogram));
        Self {
            linerate_version: shape::VERSION,
            target: target.shown.clone(),
            address: target.address.to_string(),
            pace: plan.pace,
            engine: outcome.engine.name(),
            http: super::version(plan),
            connections: plan.connections,
            streams: plan.streams(),
            threads: plan.threads,
            settle_seconds: seconds(outcome.settled_ns),
            requests_asked: plan.requests,
            window_seconds: seconds(outcome.window_ns),
            look: FirstAnswer::of(first),
            first_status: outcome.first_status,
            sent: outcome.ledger.sent,
            answered: outcome.ledger.answered,
            errors: outcome.ledger.errors,
            due_unsent: outcome.due_unsent,
            due_unanswered: outcome.due_unanswered,
            answered_in_window: outcome.answered,
            received_bytes: outcome.received_bytes,
            received_bytes_per_second: outcome.received_bytes_per_second(),
            throughput_rps: outcome.throughput_rps(),
            client_cpu_us_per_request: outcome.client_cpu_us_per_request(),
            machine_us_per_request: MachinePerUnit::of(machine.filter(is_whole), per_request_us),
            client_busy_share: outcome.client_busy_share,
            client_occupied_share: outcome.client_occupied_share,
            latency_us: Latency {
                service: latency.map(|latency| counted(&latency.service)),
                response: latency.and_then(|latency| open_only(&latency.response)),
                lateness: latency.and_then(|latency| open_only(&latency.lateness)),
            },
            connections_opened: outcome.connections.opened,
            connections_failed: outcome.connections.failed,
            connections_reopened: outcome.connections.reopened,
            tls: first
                .tls
                .as_ref()
                .map(|agreed| tls(agreed, outcome.handshakes.as_ref())),
            mix: mix.map(|mix| mix::shape(mix, &outcome.kinds)),
            answered_per_100_ms: outcome.window_counts.clone(),
            doubts: worded(&outcome.doubts),
            notes,
        }
    }
}

/// Whether a quantile of the response time would be about the same however long the unanswered
/// requests had taken. They are in the distribution with the time for which they had waited.
pub(super) fn is_firm(quantile: f64, outcome: &LoadOutcome) -> bool {
    let Some(latency) = &outcome.latency else {
        return false;
    };
    let unanswered = outcome.due_unanswered as f64 / latency.response.total().max(1) as f64;
    let without_them = quantile + unanswered;
    let time_ns = |quantile| latency.response.quantile(quantile).unwrap_or(0) as f64;
    without_them <= 1.0 && time_ns(without_them) <= time_ns(quantile) * ABOUT
}

impl FirstAnswer {
    fn of(first: &Probe) -> Self {
        Self {
            status: first.status,
            response_bytes: first.response_bytes,
            body_bytes: first.body.bytes,
        }
    }
}

fn tls(agreed: &Agreed, handshakes: Option<&Handshakes>) -> Tls {
    Tls {
        agreed: agreed.clone(),
        handshakes: handshakes.map(|handshakes| handshakes.times.total()),
        resumed: handshakes.map(|handshakes| handshakes.resumed),
        handshake_us: handshakes.map(|handshakes| counted(&handshakes.times)),
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn counted(histogram: &Histogram) -> Counted {
    Counted {
        count: histogram.total(),
        quantiles: histogram.into(),
    }
}
