//! A download between two programs as one JSON value of a stable shape.

use agent::download::Side;
use serde_json::{Value, json};

use super::Report;
use super::crossings::{FilePath, Step};
use crate::commands::whole_machine;
use crate::commands::worded::worded;

/// The version of this shape.
const FORMAT: u32 = 1;

pub(super) fn render(report: &Report) -> String {
    format!("{:#}", value(report))
}

fn value(report: &Report) -> Value {
    let (order, went) = (&report.order, &report.went);
    let tls = went.tls.as_ref();
    let seconds = |us: u64| us as f64 / 1e6;
    let server = json!({ "title": went.server_title, "version": went.server_version });
    json!({
        "format": FORMAT,
        "linerate_version": env!("CARGO_PKG_VERSION"),
        "scheme": report.scheme(),
        "tls": tls.map(|agreed| json!({ "version": agreed.version, "cipher": agreed.cipher })),
        "connections": order.connections,
        "file_bytes": went.file_bytes,
        "settle_seconds": order.settle.as_secs_f64(),
        "window_seconds": report.seconds(),
        "acknowledged_bytes": went.sending.acked_bytes,
        "throughput_gbit_per_second": report.gbit_per_second(),
        "server": side(report, &went.server, server),
        "gbit_per_second_per_server_cpu_percent": report.gbit_per_cpu_percent(),
        "memory_crossings": report.path.map(crossings),
        "zero_copy": report.zero_copy(),
        "client": side(report, &went.client, json!({ "command": report.client })),
        "machine_cpu_seconds_per_gb": whole_machine::json(went.machine, |ns| Some(went.seconds_per_gb(ns))),
        "full_sides": report.full_sides(),
        "sending": {
            "busy_seconds": seconds(went.sending.busy_us),
            "rwnd_limited_seconds": seconds(went.sending.rwnd_limited_us),
            "sndbuf_limited_seconds": seconds(went.sending.sndbuf_limited_us),
        },
        "doubts": worded(&report.doubts()),
    })
}

/// A byte's way through the server.
fn crossings(path: FilePath) -> Value {
    let step = |step: &Step| json!({ "what": step.what, "crossings": step.crossings });
    json!({
        "source": "computed",
        "path": path.name(),
        "per_byte": path.crossings(),
        "steps": path.steps().iter().map(step).collect::<Vec<_>>(),
    })
}

/// What a side spent, added to what it is.
fn side(report: &Report, side: &Side, mut what: Value) -> Value {
    what["cpus"] = json!(sys::cpu::format_list(&side.cpus));
    what["cpu_seconds_per_gb"] = json!(report.went.cpu_seconds_per_gb(side));
    what["busy_percent"] = json!(side.busy_share * 100.0);
    what
}
