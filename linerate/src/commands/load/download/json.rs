//! A download as one JSON value of a stable shape.

use serde_json::{Value, json};

use super::{Report, Server};
use crate::commands::whole_machine;
use crate::commands::worded::worded;

/// The version of this shape. Keys may be added under the same version; none is renamed, taken
/// away or given another meaning.
const FORMAT: u32 = 1;

/// The value, over several lines.
pub(super) fn render(report: &Report) -> String {
    format!("{:#}", value(report))
}

fn value(report: &Report) -> Value {
    let (outcome, plan) = (&report.outcome, &report.plan);
    let tls = report.first.tls.as_ref();
    json!({
        "format": FORMAT,
        "linerate_version": env!("CARGO_PKG_VERSION"),
        "target": report.shown,
        "address": plan.address.to_string(),
        "connections": plan.connections,
        "threads": plan.threads,
        "settle_seconds": plan.settle_ns as f64 / 1e9,
        "window_seconds": outcome.window_ns as f64 / 1e9,
        "first_status": report.first.status,
        "body_bytes": report.first.body_bytes,
        "tls": tls.map(|agreed| json!({ "version": agreed.version, "cipher": agreed.cipher })),
        "received_bytes": outcome.received_bytes,
        "throughput_gbit_per_second": report.gbit_per_second(),
        "sent": outcome.ledger.sent,
        "answered": outcome.ledger.answered,
        "errors": outcome.ledger.errors,
        "client_cpu_seconds_per_gb": report.per_gigabyte(outcome.client_cpu_ns),
        "client_busy_share": outcome.client_busy_share,
        "client_occupied_share": outcome.client_occupied_share,
        "server": report.server.as_ref().ok().map(|side| server(report, side)),
        "machine_cpu_seconds_per_gb": whole_machine::json(report.machine, |ns| report.per_gigabyte(ns)),
        "full_sides": report.full_sides(),
        "doubts": worded(&outcome.doubts),
        "notes": report.notes,
    })
}

fn server(report: &Report, server: &Server) -> Value {
    let seconds = |us: u64| us as f64 / 1e6;
    json!({
        "cpu_seconds_per_gb": server.cpu_ns.and_then(|cpu_ns| report.per_gigabyte(cpu_ns)),
        "busy_share": server.busy_share,
        "sending": server.sending.map(|sending| json!({
            "connections": sending.connections,
            "busy_seconds": seconds(sending.busy_us),
            "rwnd_limited_seconds": seconds(sending.rwnd_limited_us),
            "sndbuf_limited_seconds": seconds(sending.sndbuf_limited_us),
        })),
    })
}
