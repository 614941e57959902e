//! As hyperfine 2.x writes them (the second version of its schema): each run by itself, each figure with its unit.

use std::collections::BTreeMap;

use model::CommandReading;
use model::bench::BenchRecord;
use serde::Serialize;
use serde_json::{Value, json};

use super::markup::MarkupTable;
use super::{Form, Metric, Row, Summary, csv_line, parameter_headings};
use crate::numbers;

/// One command as such readers expect it.
#[derive(Serialize)]
struct Exported<'a> {
    command: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    measurements: Vec<BTreeMap<&'static str, Value>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    parameters: BTreeMap<&'a str, Value>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    environment: &'a BTreeMap<String, String>,
    summary: BTreeMap<&'static str, Value>,
}

pub(super) fn json(record: &BenchRecord, rows: &[Row<'_>], form: &Form) -> String {
    let results: Vec<Exported<'_>> = rows.iter().map(exported).collect();
    let export = json!({
        "schema_version": 2,
        "metadata": {
            "linerate_version": record.linerate_version,
            "start_time": form.started_utc,
            "platform": { "os": "Linux", "architecture": std::env::consts::ARCH },
        },
        "primary_metric": form.metrics[0].metric.name(),
        "results": results,
    });
    format!("{export:#}\n")
}

fn exported<'a>(row: &Row<'a>) -> Exported<'a> {
    let arm = row.arm;
    let values = arm.parameters.iter();
    let summary = |metric: Metric| (metric.name(), summary(metric, &row.summary(metric)));
    Exported {
        command: &arm.command,
        name: (arm.title != arm.command).then_some(&arm.title),
        measurements: row.readings.iter().copied().map(measurement).collect(),
        parameters: values
            .map(|(name, value)| (name.as_str(), json!({ "value": value })))
            .collect(),
        environment: &arm.environment,
        summary: Metric::ALL.into_iter().map(summary).collect(),
    }
}

fn measurement(reading: &CommandReading) -> BTreeMap<&'static str, Value> {
    let figure = |metric: Metric| {
        let value = json!({ "value": metric.of(reading), "unit": metric.base_unit() });
        (metric.name(), value)
    };
    let code = ("exit_code", json!(reading.end.exit_code()));
    Metric::ALL.into_iter().map(figure).chain([code]).collect()
}

fn summary(metric: Metric, of: &Summary) -> Value {
    json!({
        "unit": metric.base_unit(),
        "count": of.count,
        "mean": of.mean,
        "stddev": of.stddev,
        "median": of.median,
        "min": of.min,
        "max": of.max,
    })
}

pub(super) fn csv(rows: &[Row<'_>], form: &Form) -> String {
    let fields = ["unit", "mean", "stddev", "median", "min", "max"];
    let of_metrics = form.metrics.iter().flat_map(|choice| {
        let name = choice.metric.name();
        fields.map(|field| format!("{name}_{field}"))
    });
    let headings = std::iter::once("command".to_owned()).chain(of_metrics);
    let mut text = csv_line(headings.chain(parameter_headings(rows)));
    for row in rows {
        let mut cells = vec![row.arm.title.clone()];
        for choice in &form.metrics {
            let (symbol, scale) = choice.unit_of_files();
            let of = row.summary(choice.metric);
            let figures = [
                Some(of.mean),
                of.stddev,
                Some(of.median),
                Some(of.min),
                Some(of.max),
            ];
            cells.push(symbol.to_owned());
            let written = |figure: Option<f64>| figure.map(|figure| (figure / scale).to_string());
            cells.extend(figures.map(|figure| written(figure).unwrap_or_default()));
        }
        cells.extend(row.arm.parameters.values().cloned());
        text += &csv_line(cells);
    }
    text
}

/// Of the first metric, beside the first command.
pub(super) fn table(rows: &[Row<'_>], form: &Form) -> MarkupTable {
    let choice = form.metrics[0];
    let summaries: Vec<Summary> = rows.iter().map(|row| row.summary(choice.metric)).collect();
    let first = summaries.first().map_or(0.0, |of| of.mean);
    let (symbol, scale) = choice.unit_shown(first);
    let row = |(at, (row, of)): (usize, (&Row<'_>, &Summary))| {
        let spread = of.stddev.map(|stddev| format!(" ± {:.1}", stddev / scale));
        let factor = of.mean / first;
        let [change, factor] = match at > 0 && factor.is_finite() {
            true => [
                numbers::signed((factor - 1.0) * 100.0) + " %",
                format!("{factor:.2}"),
            ],
            false => [String::new(), String::new()],
        };
        vec![
            row.arm.title.clone(),
            format!("{:.1}{}", of.mean / scale, spread.unwrap_or_default()),
            change,
            factor,
        ]
    };
    let mean = format!("Mean {} [{symbol}]", choice.metric.title());
    MarkupTable {
        headings: [
            "Command".to_owned(),
            mean,
            "Change".to_owned(),
            "Factor".to_owned(),
        ]
        .to_vec(),
        rows: rows.iter().zip(&summaries).enumerate().map(row).collect(),
    }
}
