//! Exports in the format of hyperfine 1.x: times in s, those of each command in lists of their own.

use serde_json::{Value, json};

use super::markup::MarkupTable;
use super::metric::{SYSTEM, USER, WALL, unit_of_tables};
use super::{Row, csv_table};

/// The columns of the CSV summary, before those of parameters.
const COLUMNS: [&str; 8] = [
    "command", "mean", "stddev", "median", "user", "system", "min", "max",
];

pub(super) fn json(rows: &[Row<'_>]) -> String {
    let results: Vec<Value> = rows.iter().map(exported).collect();
    format!("{:#}\n", json!({ "results": results }))
}

/// One command as readers of this format expect it.
fn exported(row: &Row<'_>) -> Value {
    let time = row.summary(WALL);
    let memory = row.readings.iter().map(|one| one.peak_memory_bytes);
    let codes = row.readings.iter().map(|one| one.end.exit_code());
    let mut command = json!({
        "command": row.arm.title,
        "mean": time.mean,
        "stddev": time.stddev,
        "median": time.median,
        "user": row.summary(USER).mean,
        "system": row.summary(SYSTEM).mean,
        "min": time.min,
        "max": time.max,
        "times": row.values(WALL),
        "memory_usage_byte": memory.collect::<Vec<u64>>(),
        "exit_codes": codes.collect::<Vec<Option<i32>>>(),
    });
    if !row.arm.parameters.is_empty() {
        command["parameters"] = json!(row.arm.parameters);
    }
    command
}

pub(super) fn csv(rows: &[Row<'_>]) -> String {
    csv_table(rows, COLUMNS.map(str::to_owned), |row| {
        let time = row.summary(WALL);
        let figures = [
            time.mean,
            time.stddev.unwrap_or(0.0),
            time.median,
            row.summary(USER).mean,
            row.summary(SYSTEM).mean,
            time.min,
            time.max,
        ];
        let name = std::iter::once(row.arm.title.clone());
        name.chain(figures.map(|figure| figure.to_string()))
            .collect()
    })
}

/// The summary as a table, relative to the fastest mean, as readers of this format expect.
pub(super) fn table(rows: &[Row<'_>], time_unit: Option<&'static str>) -> MarkupTable {
    let (symbol, scale) = unit_of_tables(time_unit);
    let means = rows.iter().map(|row| row.summary(WALL).mean);
    let fastest = means.fold(f64::INFINITY, f64::min);
    let row = |row: &Row<'_>| {
        let time = row.summary(WALL);
        vec![
            row.arm.title.clone(),
            time.mean_with_spread(scale),
            format!("{:.1}", time.min / scale),
            format!("{:.1}", time.max / scale),
            format!("{:.2}", time.mean / fastest),
        ]
    };
    let of_times = ["Mean", "Min", "Max"].map(|what| format!("{what} [{symbol}]"));
    let headings = std::iter::once("Command".to_owned()).chain(of_times);
    MarkupTable {
        headings: headings.chain(["Relative".to_owned()]).collect(),
        rows: rows.iter().map(row).collect(),
    }
}
