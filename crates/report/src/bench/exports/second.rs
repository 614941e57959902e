//! Exports in the format of hyperfine 2.x (the second version of its schema): each run by itself,
//! each figure with its unit.

use model::CommandReading;
use model::bench::BenchRecord;
use serde_json::{Map, Value, json};

use super::markup::MarkupTable;
use super::metric::{ALL, Metric};
use super::{Form, Row, Summary, csv_table};
use crate::numbers;

pub(super) fn json(record: &BenchRecord, rows: &[Row<'_>], form: &Form) -> String {
    let results: Vec<Value> = rows.iter().map(exported).collect();
    let export = json!({
        "schema_version": 2,
        "metadata": {
            "linerate_version": record.linerate_version,
            "start_time": form.started_utc,
            "platform": { "os": "Linux", "architecture": std::env::consts::ARCH },
        },
        "primary_metric": form.metrics[0].metric.name,
        "results": results,
    });
    format!("{export:#}\n")
}

/// One command as readers of this format expect it; empty parts are left out.
fn exported(row: &Row<'_>) -> Value {
    let arm = row.arm;
    let runs = row.readings.iter().copied().map(measurement);
    let summary = |metric: Metric| {
        (
            metric.name.to_owned(),
            summary(metric, &row.summary(metric)),
        )
    };
    let mut command = json!({
        "command": arm.command,
        "measurements": runs.collect::<Vec<Value>>(),
        "summary": ALL.into_iter().map(summary).collect::<Map<String, Value>>(),
    });
    if arm.title != arm.command {
        command["name"] = json!(arm.title);
    }
    if !arm.parameters.is_empty() {
        let values = arm.parameters.iter();
        let values = values.map(|(name, value)| (name.clone(), json!({ "value": value })));
        command["parameters"] = values.collect();
    }
    if !arm.environment.is_empty() {
        command["environment"] = json!(arm.environment);
    }
    command
}

fn measurement(reading: &CommandReading) -> Value {
    let figure = |metric: Metric| {
        let value = json!({ "value": (metric.of)(reading), "unit": metric.base_unit });
        (metric.name.to_owned(), value)
    };
    let code = ("exit_code".to_owned(), json!(reading.end.exit_code()));
    ALL.into_iter().map(figure).chain([code]).collect()
}

fn summary(metric: Metric, found: &Summary) -> Value {
    json!({
        "unit": metric.base_unit,
        "count": found.count,
        "mean": found.mean,
        "stddev": found.stddev,
        "median": found.median,
        "min": found.min,
        "max": found.max,
    })
}

pub(super) fn csv(rows: &[Row<'_>], form: &Form) -> String {
    let fields = ["unit", "mean", "stddev", "median", "min", "max"];
    let of_metrics = form.metrics.iter().flat_map(|choice| {
        let name = choice.metric.name;
        fields.map(|field| format!("{name}_{field}"))
    });
    let headings = std::iter::once("command".to_owned()).chain(of_metrics);
    csv_table(rows, headings, |row| {
        let mut cells = vec![row.arm.title.clone()];
        for choice in &form.metrics {
            let (symbol, scale) = choice.unit_of_files();
            let found = row.summary(choice.metric);
            let figures = [found.mean, found.median, found.min, found.max].map(Some);
            let [mean, median, min, max] = figures;
            let written = |figure: Option<f64>| figure.map(|figure| (figure / scale).to_string());
            let figures = [mean, found.stddev, median, min, max].map(written);
            cells.push(symbol.to_owned());
            cells.extend(figures.map(Option::unwrap_or_default));
        }
        cells
    })
}

/// The summary of the first metric as a table, compared with the first command.
pub(super) fn table(rows: &[Row<'_>], form: &Form) -> MarkupTable {
    let choice = form.metrics[0];
    let first = rows.first();
    let first = first.map_or(0.0, |row| row.summary(choice.metric).mean);
    let (symbol, scale) = choice.unit_shown(first);
    let row = |(at, row): (usize, &Row<'_>)| {
        let found = row.summary(choice.metric);
        let factor = found.mean / first;
        let [change, factor] = match at > 0 && factor.is_finite() {
            true => [
                numbers::signed((factor - 1.0) * 100.0) + " %",
                format!("{factor:.2}"),
            ],
            false => [String::new(), String::new()],
        };
        let mean = found.mean_with_spread(scale);
        vec![row.arm.title.clone(), mean, change, factor]
    };
    let mean = format!("Mean {} [{symbol}]", choice.metric.title);
    let headings = ["Command", &mean, "Change", "Factor"];
    MarkupTable {
        headings: headings.map(str::to_owned).to_vec(),
        rows: rows.iter().enumerate().map(row).collect(),
    }
}
