//! A load as one JSON value of a stable shape.

use model::{Histogram, Pace};
use serde_json::{Map, Value, json};
use traffic::load::Handshakes;
use traffic::tls::Agreed;

use super::{Report, mix};
use crate::commands::quantiles::{QUANTILES, carried};
use crate::commands::whole_machine;
use crate::commands::worded::worded;

/// The version of this shape. Keys may be added under the same version; none is renamed, taken
/// away or given another meaning.
const FORMAT: u32 = 1;

/// The value, over several lines.
pub(super) fn render(report: &Report<'_>) -> String {
    format!("{:#}", value(report))
}

fn value(report: &Report<'_>) -> Value {
    let (outcome, plan) = (report.outcome, report.plan);
    let latency = outcome.latency.as_ref();
    let is_open = matches!(plan.pace, Pace::Open { .. });
    let open_only = |histogram| is_open.then(|| quantiles(histogram));
    json!({
        "format": FORMAT,
        "linerate_version": env!("CARGO_PKG_VERSION"),
        "target": report.target.shown,
        "address": report.target.address.to_string(),
        "pace": plan.pace,
        "engine": report.engine(),
        "http": super::version(plan),
        "connections": plan.connections,
        "streams": plan.streams(),
        "threads": plan.threads,
        "settle_seconds": seconds(plan.settle_ns),
        "window_seconds": seconds(outcome.window_ns),
        "first_status": outcome.first_status,
        "sent": outcome.ledger.sent,
        "answered": outcome.ledger.answered,
        "errors": outcome.ledger.errors,
        "answered_in_window": outcome.answered,
        "received_bytes": outcome.received_bytes,
        "received_bytes_per_second": outcome.received_bytes_per_second(),
        "throughput_rps": outcome.throughput_rps(),
        "client_cpu_us_per_request": outcome.client_cpu_us_per_request(),
        "machine_us_per_request": whole_machine::json(report.machine, |ns| report.per_request_us(ns)),
        "client_busy_share": outcome.client_busy_share,
        "client_occupied_share": outcome.client_occupied_share,
        "latency_us": {
            "service": latency.map(|latency| quantiles(&latency.service)),
            "response": latency.and_then(|latency| open_only(&latency.response)),
            "lateness": latency.and_then(|latency| open_only(&latency.lateness)),
        },
        "connections_opened": outcome.connections.opened,
        "connections_failed": outcome.connections.failed,
        "connections_reopened": outcome.connections.reopened,
        "tls": report.target.look.first.tls.as_ref().map(|agreed| tls(agreed, outcome.handshakes.as_ref())),
        "mix": report.mixed.map(|mixed| mix::json(mixed, &outcome.kinds)),
        "answered_per_100_ms": outcome.window_counts,
        "doubts": worded(&outcome.doubts),
        "notes": report.notes,
    })
}

/// Count and quantiles in µs; a quantile that the data do not carry is null.
fn quantiles(histogram: &Histogram) -> Value {
    let micros = |ns: u64| ns as f64 / 1e3;
    let mut object = Map::new();
    object.insert("count".to_owned(), json!(histogram.total()));
    for quantile in QUANTILES {
        let name = report::numbers::quantile(quantile).replace('.', "_");
        object.insert(name, json!(carried(histogram, quantile).map(micros)));
    }
    Value::Object(object)
}

fn tls(agreed: &Agreed, handshakes: Option<&Handshakes>) -> Value {
    json!({
        "version": agreed.version,
        "cipher": agreed.cipher,
        "handshakes": handshakes.map(|handshakes| handshakes.times.total()),
        "resumed": handshakes.map(|handshakes| handshakes.resumed),
        "handshake_us": handshakes.map(|handshakes| quantiles(&handshakes.times)),
    })
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
