//! What datagrams cost as one JSON value of a stable shape.

use serde_json::{Value, json};

use super::{Cost, Report};
use crate::commands::whole_machine;
use crate::commands::worded::worded;

/// The version of this shape.
const FORMAT: u32 = 1;

pub(super) fn render(report: &Report) -> String {
    format!("{:#}", value(report))
}

fn value(report: &Report) -> Value {
    let (plan, went) = (&report.plan, &report.went);
    json!({
        "format": FORMAT,
        "linerate_version": env!("CARGO_PKG_VERSION"),
        "datagram_bytes": plan.datagram_bytes,
        "window_seconds": report.seconds(),
        "sent": went.sent.datagrams,
        "received": went.received.datagrams,
        "lost": went.lost(),
        "out_of_order": went.received.out_of_order,
        "datagrams_per_second": report.datagrams_per_second(),
        "throughput_gbit_per_second": report.gbit_per_second(),
        "cpu_seconds_per_gb": report.cpu_seconds_per_gb(),
        "machine_cpu_seconds_per_gb": whole_machine::json(report.machine, |ns| report.per_gigabyte(ns)),
        "sender": sender(report),
        "receiver": receiver(report),
        "outstanding_most": went.outstanding_most,
        "doubts": worded(&report.doubts),
    })
}

fn sender(report: &Report) -> Value {
    let (plan, went) = (&report.plan, &report.went);
    let what = json!({
        "how": plan.send.to_string(),
        "cpu": plan.sender_cpu,
        "calls": went.sent.calls,
        "segment_bytes": went.held.segment_bytes,
    });
    with_cost(what, &report.of_sender())
}

fn receiver(report: &Report) -> Value {
    let (plan, went) = (&report.plan, &report.went);
    let what = json!({
        "how": plan.receive.to_string(),
        "cpu": plan.receiver_cpu,
        "calls": went.received.calls,
        "may_merge": went.held.may_merge,
        "merged": went.received.merged,
        "largest_bytes": went.received.largest_bytes,
        "buffer_bytes": went.held.room_bytes,
    });
    with_cost(what, &report.of_receiver())
}

fn with_cost(mut what: Value, cost: &Cost) -> Value {
    what["datagrams_per_call"] = json!(cost.datagrams_per_call);
    what["cpu_seconds_per_gb"] = json!(cost.cpu_seconds_per_gb);
    what["cpu_seconds_per_million"] = json!(cost.cpu_seconds_per_million);
    what
}
