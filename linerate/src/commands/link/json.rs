//! What a link carried, as one JSON value of a stable shape.

use agent::link::Carried;
use model::link::LinkReading;
use serde_json::{Value, json};

use super::Report;
use crate::commands::quantiles::{QUANTILES, carried};
use crate::commands::worded::worded;

/// The version of this shape.
const FORMAT: u32 = 1;

pub(super) fn render(report: &Report) -> String {
    format!("{:#}", value(report))
}

fn value(report: &Report) -> Value {
    let (goes_first, [up, down]) = match &report.carried {
        Carried::Userspace(readings) => {
            let directions = [&readings.up, &readings.down].map(direction);
            (Some(readings.went_first), directions)
        }
        Carried::Kernel { readings, .. } => {
            (None, readings.each_ref().map(|reading| json!(reading)))
        }
    };
    json!({
        "format": FORMAT,
        "linerate_version": env!("CARGO_PKG_VERSION"),
        "plan": report.plan,
        "exit_code": report.exit_code,
        "elapsed_seconds": report.elapsed.as_secs_f64(),
        "goes_first": goes_first,
        "up": up,
        "down": down,
        "doubts": worded(&report.doubts),
    })
}

fn direction(reading: &LinkReading) -> Value {
    let micros = |ns: u64| ns as f64 / 1e3;
    let lateness = &reading.lateness_ns;
    let quantile = |quantile| {
        let name = report::numbers::quantile(quantile).replace('.', "_");
        (name, json!(carried(lateness, quantile).map(micros)))
    };
    let mut late: serde_json::Map<String, Value> = QUANTILES.into_iter().map(quantile).collect();
    late.insert("most".to_owned(), json!(lateness.quantile(1.0).map(micros)));
    json!({
        "tally": reading.tally,
        "missed_packets": reading.missed_packets,
        "waited_packets": reading.waited_packets,
        "late_us": late,
    })
}
