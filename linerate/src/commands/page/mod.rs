//! `linerate page`: how many round trips a page takes, over an emulated link.

mod arguments;
pub(crate) mod json;
mod table;

use std::path::Path;
use std::process::ExitCode;

use agent::link::LinkProcess;
use agent::page::{PageOrder, fetch_pages};
use machine::rig::Lab;
use model::Doubt;
use model::link::LinkPlan;
use traffic::page::{Fetched, round_trips};

use crate::console::Console;
use crate::failure::words;
use crate::ourselves::OURSELVES;
pub(crate) use arguments::Arguments;

/// What was fetched, and over what.
struct Report {
    /// There and back, ns, as asked for.
    round_trip_ns: u64,
    /// The shortest handshake of all, ns: what a round trip took, without what delayed some.
    handshake_ns: u64,
    /// Segments.
    initial_window: u32,
    congestion_control: String,
    /// Payload of a full segment, bytes.
    segment_bytes: u32,
    pages: Vec<Page>,
    /// How much later than due the latest packet of the link left, ns.
    late_ns_most: Option<u64>,
    doubts: Vec<Doubt>,
}

/// All fetches of one size.
struct Page {
    bytes: usize,
    samples: usize,
    /// From the request to the last byte, ns: the median, the shortest and the longest.
    response_ns: [u64; 3],
    /// By slow start.
    predicted_round_trips: u32,
}

impl Report {
    /// How many handshakes would fit into a page's response.
    fn round_trips(&self, page: &Page) -> f64 {
        page.response_ns[0] as f64 / self.handshake_ns as f64
    }
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    let plan = arguments.link()?;
    let report = measure(&plan, &arguments.order(), arguments.round_trip())?;
    if arguments.json {
        console.say(&json::render(&report));
    } else {
        console.say(&table::render(&report));
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(plan: &LinkPlan, order: &PageOrder, round_trip_ns: u64) -> anyhow::Result<Report> {
    let lab = Lab::build(Path::new(OURSELVES), plan.via.topology())?;
    let link = LinkProcess::start(Path::new(OURSELVES), &lab, plan).map_err(words)?;
    let fetched = fetch_pages(Path::new(OURSELVES), &lab, order).map_err(words)?;
    let carried = link.finish().map_err(words)?;
    let all = || fetched.fetched.iter().flatten();
    let payloads = all().map(|fetch| fetch.segment_bytes);
    let segment_bytes = payloads.min().unwrap_or_default();
    let handshakes_ns = all().map(|fetch| fetch.handshake_ns);
    let pages = order.pages.iter().zip(&fetched.fetched);
    let page = |(bytes, fetches): (&usize, &Vec<Fetched>)| {
        page(*bytes, fetches, order.initial_window, segment_bytes)
    };
    Ok(Report {
        round_trip_ns,
        handshake_ns: handshakes_ns.min().unwrap_or_default(),
        initial_window: order.initial_window,
        congestion_control: fetched.congestion_control,
        segment_bytes,
        pages: pages.map(page).collect(),
        late_ns_most: carried.latest_ns(),
        doubts: carried.doubts(),
    })
}

fn page(bytes: usize, fetches: &[Fetched], window: u32, segment_bytes: u32) -> Page {
    let mut responses_ns: Vec<u64> = fetches.iter().map(|fetch| fetch.response_ns).collect();
    responses_ns.sort_unstable();
    Page {
        bytes,
        samples: fetches.len(),
        response_ns: [
            median(&responses_ns),
            responses_ns[0],
            responses_ns[responses_ns.len() - 1],
        ],
        // A window of one segment or more, and segments of a byte or more, carry any page.
        predicted_round_trips: round_trips(bytes as u64, window, segment_bytes).unwrap_or(0),
    }
}

/// The lower one of an even number.
fn median(sorted: &[u64]) -> u64 {
    sorted[(sorted.len() - 1) / 2]
}
