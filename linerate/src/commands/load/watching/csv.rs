//! One line of figures for each interval, separated by commas.

use std::io::{self, Write as _};

use model::Histogram;
use model::reading::LatencyReading;

use super::interval::Interval;
use super::named_file::NamedFile;
use crate::console::Console;

/// The quantiles of each distribution, and what their columns are called.
const QUANTILES: [(f64, &str); 4] = [(0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p99_9")];
/// The columns before the distributions.
const COUNTS: [&str; 14] = [
    "time_unix_seconds",
    "start_seconds",
    "length_seconds",
    "offered_rps",
    "sent",
    "answered",
    "throughput_rps",
    "received_bytes",
    "failed_status",
    "failed_malformed",
    "failed_body",
    "failed_closed",
    "failed_timeout",
    "unfinished",
];

/// Where the lines go.
pub(super) enum Csv<'a> {
    File(NamedFile),
    Console(&'a Console),
}

impl Csv<'_> {
    /// Writes the line of column names.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        self.line(&names())
    }

    /// Writes the line of an interval. Its window opened at `opened_wall_ns` of the wall clock.
    pub(super) fn write(&mut self, opened_wall_ns: u64, interval: &Interval) -> io::Result<()> {
        self.line(&row(opened_wall_ns, interval))
    }

    fn line(&mut self, cells: &[String]) -> io::Result<()> {
        let line = cells.join(",");
        match self {
            Self::File(file) => writeln!(file, "{line}"),
            Self::Console(console) => {
                console.say(&line);
                Ok(())
            }
        }
    }
}

fn names() -> Vec<String> {
    let of = |distribution: &'static str| {
        let quantiles = QUANTILES.iter().map(|(_, name)| *name);
        let figures = ["mean"].into_iter().chain(quantiles).chain(["max"]);
        figures.map(move |figure| format!("{distribution}_us_{figure}"))
    };
    let counts = COUNTS.iter().map(|name| (*name).to_owned());
    let distributions = ["service", "response", "lateness"].into_iter().flat_map(of);
    counts.chain(distributions).collect()
}

fn row(opened_wall_ns: u64, interval: &Interval) -> Vec<String> {
    let counted = &interval.counted;
    let errors = &counted.ledger.errors;
    let latency = counted.latency.as_ref();
    let offered_rps = latency.map(|latency| latency.offered_rps);
    let seconds = |ns: u64| format!("{:.3}", ns as f64 / 1e9);
    let mut cells = vec![
        seconds(opened_wall_ns + interval.from_ns),
        seconds(interval.from_ns),
        format!("{:.3}", interval.seconds()),
        offered_rps
            .filter(|rate| *rate > 0.0)
            .map_or_else(String::new, |rate| rate.to_string()),
        counted.ledger.sent.to_string(),
        counted.answered.to_string(),
        format!("{:.1}", interval.throughput_rps()),
        counted.received_bytes.to_string(),
    ];
    let fates = [
        errors.status,
        errors.malformed,
        errors.body,
        errors.closed,
        errors.timeout,
        errors.unfinished,
    ];
    cells.extend(fates.map(|count| count.to_string()));
    let none = LatencyReading::default();
    let latency = latency.unwrap_or(&none);
    for distribution in [&latency.service, &latency.response, &latency.lateness] {
        cells.extend(figures(distribution));
    }
    cells
}

/// Cells of a distribution, in µs; empty where there is nothing, or too little for a quantile.
fn figures(histogram: &Histogram) -> Vec<String> {
    let cell = |ns: Option<f64>| ns.map_or_else(String::new, |ns| format!("{:.1}", ns / 1e3));
    let quantile = |(quantile, _): &(f64, _)| histogram.carried(*quantile).map(|ns| ns as f64);
    let largest = histogram.quantile(1.0).map(|ns| ns as f64);
    let quantiles = QUANTILES.iter().map(quantile);
    let all = [histogram.mean()].into_iter().chain(quantiles);
    all.chain([largest]).map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use traffic::load::SoFar;

    #[test]
    fn every_row_has_a_cell_for_each_name_and_says_nothing_of_what_was_not_recorded() {
        let interval = Interval {
            from_ns: 0,
            until_ns: 500_000_000,
            counted: SoFar {
                answered: 100,
                ..SoFar::default()
            },
        };
        let row = row(1_000_000_000, &interval);
        assert_eq!(row.len(), names().len());
        assert_eq!(row[..4], ["1.000", "0.000", "0.500", ""]);
        assert_eq!(row[6], "200.0");
        assert!(row[COUNTS.len()..].iter().all(String::is_empty), "{row:?}");
    }
}
