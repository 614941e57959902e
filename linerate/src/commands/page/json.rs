//! Fetched pages as one JSON value of a stable shape.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Page, Report};
use crate::shape;
use model::doubt::{WordedDoubt, worded};

/// Pages fetched over an emulated link, each over a fresh connection.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Pages {
    /// Version of the program.
    linerate_version: &'static str,
    /// The link's delay there and back, as asked for, ms.
    round_trip_ms: f64,
    /// From the SYN to the connection, the shortest of all: what a round trip took, ms.
    handshake_ms: f64,
    /// The server's initial congestion window, segments.
    initial_window_segments: u32,
    /// The server's congestion control, by the kernel's name.
    congestion_control: String,
    /// Payload of a full segment, bytes.
    segment_bytes: u32,
    /// Each size, in the order asked for.
    pages: Vec<PageShape>,
    /// How much later than due the latest packet of either direction left the link, by its own
    /// clock, ms; null where none did.
    late_ms_most: Option<f64>,
    /// Where the link was not what it was asked to be.
    doubts: Vec<WordedDoubt>,
}

/// Pages of one size.
#[derive(Serialize, JsonSchema)]
struct PageShape {
    /// The whole answer, head included, bytes.
    page_bytes: usize,
    /// Fetches, count.
    samples: usize,
    /// From the request to the last byte, the median, ms.
    response_ms: f64,
    /// The shortest, ms.
    response_ms_low: f64,
    /// The longest, ms.
    response_ms_high: f64,
    /// response_ms ÷ handshake_ms.
    round_trips: f64,
    /// By slow start from the initial window, count.
    predicted_round_trips: u32,
    /// predicted_round_trips × handshake_ms.
    predicted_response_ms: f64,
}

pub(super) fn render(report: &Report) -> String {
    shape::lines(value(report))
}

fn value(report: &Report) -> Pages {
    Pages {
        linerate_version: shape::VERSION,
        round_trip_ms: ms(report.round_trip_ns),
        handshake_ms: ms(report.handshake_ns),
        initial_window_segments: report.initial_window,
        congestion_control: report.congestion_control.clone(),
        segment_bytes: report.segment_bytes,
        pages: report.pages.iter().map(|page| one(report, page)).collect(),
        late_ms_most: report.late_ns_most.map(ms),
        doubts: worded(&report.doubts),
    }
}

fn one(report: &Report, page: &Page) -> PageShape {
    let [median, low, high] = page.response_ns;
    PageShape {
        page_bytes: page.bytes,
        samples: page.samples,
        response_ms: ms(median),
        response_ms_low: ms(low),
        response_ms_high: ms(high),
        round_trips: report.round_trips(page),
        predicted_round_trips: page.predicted_round_trips,
        predicted_response_ms: f64::from(page.predicted_round_trips) * ms(report.handshake_ns),
    }
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}
