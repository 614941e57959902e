//! What a person sees of fetched pages: the answer, and measured beside predicted.

use report::numbers;

use super::{Page, Report};

/// Further from a whole number of round trips than this is not what slow start predicts.
const CLOSE: f64 = 0.5;

pub(super) fn render(report: &Report) -> String {
    let mut lines = vec![answer(report), String::new(), head()];
    lines.extend(report.pages.iter().map(|page| row(report, page)));
    lines.push(String::new());
    lines.push(conditions(report));
    for doubt in &report.doubts {
        lines.push(format!("  doubt: {}; {}", doubt.what(), doubt.advice()));
    }
    lines.join("\n")
}

/// Paced, as BBR is, a page comes between the steps.
fn answer(report: &Report) -> String {
    let as_predicted = |page: &&Page| {
        (report.round_trips(page) - f64::from(page.predicted_round_trips)).abs() < CLOSE
    };
    let count = report.pages.iter().filter(as_predicted).count();
    let all = report.pages.len();
    format!(
        "{count} of {all} page sizes took the round trips that slow start predicts, with {} from \
         {} segments over {}.",
        report.congestion_control,
        report.initial_window,
        numbers::duration(report.round_trip_ns)
    )
}

fn head() -> String {
    "     page bytes    response        range of samples   round trips   predicted".to_owned()
}

fn row(report: &Report, page: &Page) -> String {
    let [median, low, high] = page.response_ns.map(|ns| ns as f64 / 1e6);
    format!(
        "  {:>13}{:>9.1} ms{:>24}{:>14.2}{:>12}",
        numbers::whole(page.bytes as f64),
        median,
        format!("{low:.1} … {high:.1} ms, n {}", page.samples),
        report.round_trips(page),
        page.predicted_round_trips
    )
}

fn conditions(report: &Report) -> String {
    let first = f64::from(report.segment_bytes) * f64::from(report.initial_window);
    format!(
        "  A segment carries {} bytes, so the first window {}. A round trip is the shortest handshake, \
         {:.1} ms.",
        report.segment_bytes,
        numbers::whole(first),
        report.handshake_ns as f64 / 1e6
    )
}
