//! The files that hyperfine writes, for the scripts that read them: times in seconds, and nothing
//! subtracted. The control and the shell are ours alone and are left out.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use model::CommandReading;
use model::bench::{BenchArm, BenchRecord};
use model::study::Role;
use serde::Serialize;

/// The columns of the summary as CSV, before those of parameters.
const COLUMNS: [&str; 8] = [
    "command", "mean", "stddev", "median", "user", "system", "min", "max",
];

#[derive(Serialize)]
struct Export {
    results: Vec<ExportedCommand>,
}

/// One command as such readers expect it.
#[derive(Serialize)]
struct ExportedCommand {
    command: String,
    mean: f64,
    /// Of one run there is none.
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
    parameters: BTreeMap<String, String>,
}

/// The JSON of `--export-json`.
#[must_use]
pub fn json(record: &BenchRecord) -> String {
    let export = Export {
        results: commands(record),
    };
    // Numbers, strings and lists of them: nothing in it can fail to be JSON.
    serde_json::to_string_pretty(&export).unwrap_or_default() + "\n"
}

/// The summary as CSV (RFC 4180).
#[must_use]
pub fn csv(record: &BenchRecord) -> String {
    let commands = commands(record);
    let parameters: Vec<&String> = commands
        .first()
        .map_or_else(Vec::new, |command| command.parameters.keys().collect());
    let headings = COLUMNS.map(str::to_owned).into_iter();
    let headings = headings.chain(parameters.iter().map(|name| format!("parameter_{name}")));
    let mut text = csv_line(headings);
    for command in &commands {
        let figures = [
            command.mean,
            command.stddev.unwrap_or(0.0),
            command.median,
            command.user,
            command.system,
            command.min,
            command.max,
        ];
        let name = std::iter::once(command.command.clone());
        let cells = name.chain(figures.map(|figure| figure.to_string()));
        let of_parameter = |name: &&String| command.parameters.get(*name).cloned();
        text += &csv_line(cells.chain(parameters.iter().filter_map(of_parameter)));
    }
    text
}

/// The summary as a Markdown table, in ms; relative to the fastest mean, as such readers expect,
/// which is no verdict.
#[must_use]
pub fn markdown(record: &BenchRecord) -> String {
    let commands = commands(record);
    let fastest = commands
        .iter()
        .map(|command| command.mean)
        .min_by(f64::total_cmp);
    let mut text = "| Command | Mean [ms] | Min [ms] | Max [ms] | Relative |\n\
                    |:---|---:|---:|---:|---:|\n"
        .to_owned();
    for command in &commands {
        let [mean, min, max] = [command.mean, command.min, command.max].map(|s| s * 1e3);
        let spread = command
            .stddev
            .map_or_else(String::new, |s| format!(" ± {:.1}", s * 1e3));
        let relative = command.mean / fastest.unwrap_or(command.mean);
        let name = command.command.replace('|', "\\|");
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| `{name}` | {mean:.1}{spread} | {min:.1} | {max:.1} | {relative:.2} |"
        );
    }
    text
}

fn commands(record: &BenchRecord) -> Vec<ExportedCommand> {
    let given = |arm: &&BenchArm| matches!(arm.role, Role::Baseline | Role::Step);
    let arms = record.arms.iter().filter(given);
    arms.filter_map(|arm| exported(record, arm)).collect()
}

/// `None` for a command that was never run.
fn exported(record: &BenchRecord, arm: &BenchArm) -> Option<ExportedCommand> {
    let runs = record.runs.iter().filter(|run| run.arm == arm.name);
    let readings: Vec<&CommandReading> = runs.map(|run| &run.reading).collect();
    let seconds = |pick: fn(&CommandReading) -> u64| -> Vec<f64> {
        let picked = readings.iter().map(|reading| pick(reading) as f64 / 1e9);
        picked.collect()
    };
    let times = seconds(|reading| reading.wall_ns);
    let mut sorted = times.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    Some(ExportedCommand {
        command: arm.title.clone(),
        mean: mean(&times)?,
        stddev: standard_deviation(&times),
        median: f64::midpoint(sorted[middle], sorted[(sorted.len() - 1) / 2]),
        user: mean(&seconds(|reading| reading.user_ns))?,
        system: mean(&seconds(|reading| reading.system_ns))?,
        min: *sorted.first()?,
        max: *sorted.last()?,
        times,
        memory_usage_byte: readings.iter().map(|one| one.peak_memory_bytes).collect(),
        exit_codes: readings.iter().map(|one| one.end.exit_code()).collect(),
        parameters: arm.parameters.clone(),
    })
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Of a sample: over one less than its size.
fn standard_deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() > 1)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

fn csv_line(cells: impl Iterator<Item = String>) -> String {
    let quoted = cells.map(|cell| {
        if cell.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", cell.replace('"', "\"\""))
        } else {
            cell
        }
    });
    quoted.collect::<Vec<_>>().join(",") + "\n"
}
