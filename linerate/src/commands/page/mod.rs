//! `linerate page`: how many round trips a page takes, over an emulated link.

mod arguments;

use std::path::Path;
use std::process::ExitCode;

use agent::link::LinkProcess;
use agent::page::{PageOrder, fetch_pages};
use machine::rig::Lab;
use model::Topology;
use model::doubt::{WordedDoubt, worded};
use model::link::LinkPlan;
use schemars::JsonSchema;
use serde::Serialize;
use traffic::page::{Fetched, round_trips};

use crate::console::Console;
use crate::failure::words;
use crate::ourselves::OURSELVES;
use crate::shape;
use crate::told::{self, template};
pub(crate) use arguments::Arguments;

/// A page further than this from the predicted number of round trips is not as slow start predicts:
/// with pacing, as by BBR, it arrives between the steps.
const CLOSE: f64 = 0.5;

/// Pages fetched over an emulated link, each over a fresh connection.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Pages {
    /// Version of the program.
    linerate_version: &'static str,
    /// The link's delay there and back, as asked for, ms.
    round_trip_ms: f64,
    /// Shortest time from the SYN to the connection, which counts as a round trip, ms.
    handshake_ms: f64,
    /// The server's initial congestion window, segments.
    initial_window_segments: u32,
    /// The server's congestion control, by the kernel's name.
    congestion_control: String,
    /// Payload of a full segment, bytes.
    segment_bytes: u32,
    /// The pages of each size, in the order asked for.
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
    /// Median time from the request to the last byte, ms.
    response_ms: f64,
    /// Shortest time from the request to the last byte, ms.
    response_ms_low: f64,
    /// Longest time from the request to the last byte, ms.
    response_ms_high: f64,
    /// response_ms ÷ handshake_ms.
    round_trips: f64,
    /// Round trips that slow start predicts from the initial window, count.
    predicted_round_trips: u32,
    /// Whether it took as many as predicted, to within half a round trip.
    is_as_predicted: bool,
    /// predicted_round_trips × handshake_ms.
    predicted_response_ms: f64,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    let plan = arguments.link()?;
    let pages = measure(&plan, &arguments.order(), arguments.round_trip())?;
    told::say(&pages, template!("page"), arguments.json, console);
    Ok(ExitCode::SUCCESS)
}

fn measure(plan: &LinkPlan, order: &PageOrder, round_trip_ns: u64) -> anyhow::Result<Pages> {
    let lab = Lab::build(Path::new(OURSELVES), Topology::Wire)?;
    let link = LinkProcess::start(Path::new(OURSELVES), &lab, plan).map_err(words)?;
    let fetched = fetch_pages(Path::new(OURSELVES), &lab, order).map_err(words)?;
    let carried = link.finish().map_err(words)?;
    let all = || fetched.fetched.iter().flatten();
    let payloads = all().map(|fetch| fetch.segment_bytes);
    let segment_bytes = payloads.min().unwrap_or_default();
    let handshakes_ns = all().map(|fetch| fetch.handshake_ns);
    let handshake_ms = ms(handshakes_ns.min().unwrap_or_default());
    let pages = order.pages.iter().zip(&fetched.fetched);
    let page = |(bytes, fetches): (&usize, &Vec<Fetched>)| {
        // A window of one segment or more, and segments of a byte or more, carry any page.
        let predicted = round_trips(*bytes as u64, order.initial_window, segment_bytes);
        PageShape::new(*bytes, fetches, handshake_ms, predicted.unwrap_or(0))
    };
    Ok(Pages {
        linerate_version: shape::VERSION,
        round_trip_ms: ms(round_trip_ns),
        handshake_ms,
        initial_window_segments: order.initial_window,
        congestion_control: fetched.congestion_control.clone(),
        segment_bytes,
        pages: pages.map(page).collect(),
        late_ms_most: carried.latest_ns().map(ms),
        doubts: worded(&carried.doubts()),
    })
}

impl PageShape {
    fn new(
        page_bytes: usize,
        fetches: &[Fetched],
        handshake_ms: f64,
        predicted_round_trips: u32,
    ) -> Self {
        let mut responses_ns: Vec<u64> = fetches.iter().map(|fetch| fetch.response_ns).collect();
        responses_ns.sort_unstable();
        // The lower one of the two in the middle, where their number is even.
        let response_ms = ms(responses_ns[(responses_ns.len() - 1) / 2]);
        let (round_trips, predicted) =
            (response_ms / handshake_ms, f64::from(predicted_round_trips));
        Self {
            page_bytes,
            samples: fetches.len(),
            response_ms,
            response_ms_low: ms(responses_ns[0]),
            response_ms_high: ms(responses_ns[responses_ns.len() - 1]),
            round_trips,
            predicted_round_trips,
            is_as_predicted: (round_trips - predicted).abs() < CLOSE,
            predicted_response_ms: predicted * handshake_ms,
        }
    }
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}
