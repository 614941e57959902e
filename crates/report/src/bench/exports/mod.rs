//! The files that hyperfine writes, for the scripts that read them: those of its first generation
//! (1.x) and of its second (2.x). Nothing is subtracted. The control and the shell, which only we
//! measure, are left out.

mod first;
mod markup;
mod metric;
mod second;

use std::collections::BTreeSet;

use model::CommandReading;
use model::bench::{BenchArm, BenchRecord};
use model::study::Role;

pub use markup::Markup;
use metric::{Metric, WALL};
pub use metric::{MetricChoice, choices, time_unit};

/// The generation of hyperfine whose files are imitated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Generation {
    /// hyperfine 1.x.
    First,
    /// hyperfine 2.x.
    #[default]
    Second,
}

/// Options for the files.
#[derive(Clone, Debug, Default)]
pub struct Form {
    pub generation: Generation,
    /// The metrics of CSV, of which the first is that of tables; of the second generation alone,
    /// where it is never empty.
    pub metrics: Vec<MetricChoice>,
    /// The unit of times in tables of the first generation, as a symbol such as `s`; `None` for ms.
    pub time_unit: Option<&'static str>,
    /// Whether the quickest command comes first, instead of the order in which they were given.
    pub by_mean: bool,
    /// When the comparison began, in UTC.
    pub started_utc: String,
}

/// Returns the JSON of `--export-json`.
pub fn json(record: &BenchRecord, form: &Form) -> String {
    let rows = rows(record, form);
    match form.generation {
        Generation::First => first::json(&rows),
        Generation::Second => second::json(record, &rows, form),
    }
}

/// Returns the summary as CSV (RFC 4180).
pub fn csv(record: &BenchRecord, form: &Form) -> String {
    let rows = rows(record, form);
    match form.generation {
        Generation::First => first::csv(&rows),
        Generation::Second => second::csv(&rows, form),
    }
}

/// Returns the summary as a table for a document. Its comparison of means is no verdict.
pub fn table(record: &BenchRecord, form: &Form, markup: Markup) -> String {
    let rows = rows(record, form);
    match form.generation {
        Generation::First => first::table(&rows, form.time_unit).written(markup),
        Generation::Second => second::table(&rows, form).written(markup),
    }
}

/// A command with its runs.
struct Row<'a> {
    arm: &'a BenchArm,
    readings: Vec<&'a CommandReading>,
}

fn rows<'a>(record: &'a BenchRecord, form: &Form) -> Vec<Row<'a>> {
    let given = |arm: &&BenchArm| matches!(arm.role, Role::Baseline | Role::Step);
    let row = |arm: &'a BenchArm| {
        let runs = record.runs.iter().filter(|run| run.arm == arm.name);
        let readings: Vec<&CommandReading> = runs.map(|run| &run.reading).collect();
        (!readings.is_empty()).then_some(Row { arm, readings })
    };
    let mut rows: Vec<Row<'_>> = record.arms.iter().filter(given).filter_map(row).collect();
    if form.by_mean {
        let mean = |row: &Row<'_>| row.summary(WALL).mean;
        rows.sort_by(|one, other| mean(one).total_cmp(&mean(other)));
    }
    rows
}

impl Row<'_> {
    /// The values of its runs, in s or bytes.
    fn values(&self, metric: Metric) -> Vec<f64> {
        self.readings.iter().map(|one| (metric.of)(one)).collect()
    }

    fn summary(&self, metric: Metric) -> Summary {
        Summary::of(self.values(metric))
    }
}

/// The statistics that hyperfine writes for some runs; without runs all are 0.
struct Summary {
    count: usize,
    mean: f64,
    /// `None` for a single run.
    stddev: Option<f64>,
    median: f64,
    min: f64,
    max: f64,
}

impl Summary {
    fn of(mut values: Vec<f64>) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        let count = values.len();
        let mean = values.iter().sum::<f64>() / count.max(1) as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let at = |place: usize| values.get(place).copied().unwrap_or_default();
        Self {
            count,
            mean,
            // The standard deviation of a sample divides by one less than its size.
            stddev: (count > 1).then(|| (squares / (count - 1) as f64).sqrt()),
            median: f64::midpoint(at(count / 2), at(count.saturating_sub(1) / 2)),
            min: at(0),
            max: at(count.saturating_sub(1)),
        }
    }

    /// `12.3 ± 0.4`, in a unit of size `scale`.
    fn mean_with_spread(&self, scale: f64) -> String {
        let spread = self
            .stddev
            .map(|stddev| format!(" ± {:.1}", stddev / scale));
        format!("{:.1}{}", self.mean / scale, spread.unwrap_or_default())
    }
}

fn csv_line(cells: impl IntoIterator<Item = String>) -> String {
    let quoted = cells.into_iter().map(|cell| {
        if cell.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", cell.replace('"', "\"\""))
        } else {
            cell
        }
    });
    quoted.collect::<Vec<_>>().join(",") + "\n"
}

/// Writes a line for each command under these headings, with a column for each parameter that any
/// command has.
fn csv_table(
    rows: &[Row<'_>],
    headings: impl IntoIterator<Item = String>,
    cells: impl Fn(&Row<'_>) -> Vec<String>,
) -> String {
    let parameters = rows.iter().flat_map(|row| row.arm.parameters.keys());
    let parameters: BTreeSet<&String> = parameters.collect();
    let of_parameters = parameters.iter().map(|name| format!("parameter_{name}"));
    let mut text = csv_line(headings.into_iter().chain(of_parameters));
    for row in rows {
        let value = |name: &&String| row.arm.parameters.get(*name).cloned();
        let values = parameters.iter().map(value).map(Option::unwrap_or_default);
        text += &csv_line(cells(row).into_iter().chain(values));
    }
    text
}
