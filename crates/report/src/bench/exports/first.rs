//! As hyperfine 1.x writes them: times in s, those of each command in lists of their own.

use std::collections::BTreeMap;

use serde::Serialize;

use super::markup::MarkupTable;
use super::metric::{self, Metric};
use super::{Row, csv_line, parameter_headings};

/// The columns of the summary as CSV, before those of parameters.
const COLUMNS: [&str; 8] = [
    "command", "mean", "stddev", "median", "user", "system", "min", "max",
];

#[derive(Serialize)]
struct Export<'a> {
    results: Vec<ExportedCommand<'a>>,
}

/// One command as such readers expect it.
#[derive(Serialize)]
struct ExportedCommand<'a> {
    command: &'a str,
    mean: f64,
    stddev: Option<f64>,
    median: f64,
    user: f64,
    system: f64,
    min: f64,
    max: f64,
    times: Vec<f64>,
    memory_usage_byte: Vec<u64>,
    exit_codes: Vec<Option<i32>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    parameters: &'a BTreeMap<String, String>,
}

pub(super) fn json(rows: &[Row<'_>]) -> String {
    let export = Export {
        results: rows.iter().map(exported).collect(),
    };
    // Numbers, strings and lists of them: nothing in it can fail to be JSON.
    serde_json::to_string_pretty(&export).unwrap_or_default() + "\n"
}

pub(super) fn csv(rows: &[Row<'_>]) -> String {
    let headings = COLUMNS.map(str::to_owned).into_iter();
    let mut text = csv_line(headings.chain(parameter_headings(rows)));
    for command in rows.iter().map(exported) {
        let figures = [
            command.mean,
            command.stddev.unwrap_or(0.0),
            command.median,
            command.user,
            command.system,
            command.min,
            command.max,
        ];
        let name = std::iter::once(command.command.to_owned());
        let cells = name.chain(figures.map(|figure| figure.to_string()));
        text += &csv_line(cells.chain(command.parameters.values().cloned()));
    }
    text
}

/// Relative to the fastest mean, as such readers expect.
pub(super) fn table(rows: &[Row<'_>], time_unit: Option<&'static str>) -> MarkupTable {
    let (symbol, scale) = metric::seconds(time_unit);
    let commands: Vec<ExportedCommand<'_>> = rows.iter().map(exported).collect();
    let means = commands.iter().map(|command| command.mean);
    let fastest = means.min_by(f64::total_cmp);
    let row = |command: &ExportedCommand<'_>| {
        let [mean, min, max] = [command.mean, command.min, command.max].map(|s| s / scale);
        let spread = command.stddev.map(|s| format!(" ± {:.1}", s / scale));
        let relative = command.mean / fastest.unwrap_or(command.mean);
        vec![
            command.command.to_owned(),
            format!("{mean:.1}{}", spread.unwrap_or_default()),
            format!("{min:.1}"),
            format!("{max:.1}"),
            format!("{relative:.2}"),
        ]
    };
    let of_times = ["Mean", "Min", "Max"].map(|what| format!("{what} [{symbol}]"));
    let headings = std::iter::once("Command".to_owned()).chain(of_times);
    MarkupTable {
        headings: headings.chain(["Relative".to_owned()]).collect(),
        rows: commands.iter().map(row).collect(),
    }
}

fn exported<'a>(row: &Row<'a>) -> ExportedCommand<'a> {
    let time = row.summary(Metric::TimeWallClock);
    let readings = row.readings.iter();
    ExportedCommand {
        command: &row.arm.title,
        mean: time.mean,
        stddev: time.stddev,
        median: time.median,
        user: row.summary(Metric::TimeUser).mean,
        system: row.summary(Metric::TimeSystem).mean,
        min: time.min,
        max: time.max,
        times: row.values(Metric::TimeWallClock),
        memory_usage_byte: readings.clone().map(|one| one.peak_memory_bytes).collect(),
        exit_codes: readings.map(|one| one.end.exit_code()).collect(),
        parameters: &row.arm.parameters,
    }
}
