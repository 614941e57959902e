//! Fetched pages as one JSON value of a stable shape.

use serde_json::{Value, json};

use super::{Page, Report};
use crate::commands::worded::worded;

/// The version of this shape.
const FORMAT: u32 = 1;

pub(super) fn render(report: &Report) -> String {
    format!("{:#}", value(report))
}

fn value(report: &Report) -> Value {
    json!({
        "format": FORMAT,
        "linerate_version": env!("CARGO_PKG_VERSION"),
        "round_trip_ms": ms(report.round_trip_ns),
        "handshake_ms": ms(report.handshake_ns),
        "initial_window_segments": report.initial_window,
        "congestion_control": report.congestion_control,
        "segment_bytes": report.segment_bytes,
        "pages": report.pages.iter().map(|page| one(report, page)).collect::<Vec<_>>(),
        "late_ms_most": report.late_ns_most.map(ms),
        "doubts": worded(&report.doubts),
    })
}

fn one(report: &Report, page: &Page) -> Value {
    let [median, low, high] = page.response_ns;
    json!({
        "page_bytes": page.bytes,
        "samples": page.samples,
        "response_ms": ms(median),
        "response_ms_low": ms(low),
        "response_ms_high": ms(high),
        "round_trips": report.round_trips(page),
        "predicted_round_trips": page.predicted_round_trips,
        "predicted_response_ms": f64::from(page.predicted_round_trips) * ms(report.handshake_ns),
    })
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}
