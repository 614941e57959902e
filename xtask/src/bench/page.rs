//! The table of a comparison: a row for each arm, with the medians of its laps.

use super::race::{Race, median};

/// Below it no two signs are so rare that an interval of 95 % could be told.
const FEWEST_ROUNDS: usize = 6;

/// Title, arms with their commands, and medians.
pub(super) fn head<L>(race: &Race<'_, L>, rounds: usize) -> String {
    let mut lines = vec![format!("  {}; {rounds} rounds", race.title)];
    let width = race.arms.iter().map(|arm| arm.name.chars().count());
    let width = width.max().unwrap_or_default().max("median".len());
    for arm in &race.arms {
        let mut name = arm.name.as_str();
        for command in &arm.shown {
            lines.push(format!("  {name:<width$}  {command}"));
            name = "";
        }
    }
    lines.extend(
        race.left_out
            .iter()
            .map(|what| format!("  left out: {what}")),
    );
    let cells = |cell: &dyn Fn(usize) -> String| {
        let cells = (0..race.columns.len()).map(|column| format!("{:>13}", cell(column)));
        cells.collect::<String>()
    };
    let mut row = |name: &str, cell: &dyn Fn(usize) -> String| {
        lines.push(format!("  {name:<width$}{}", cells(cell)));
    };
    row("median", &|column| race.columns[column].0.name.to_owned());
    row("", &|column| race.columns[column].1.to_owned());
    for arm in &race.arms {
        row(&arm.name, &|column| {
            digits(median(&arm.values(race.columns[column].0)))
        });
    }
    let interval = match rounds {
        FEWEST_ROUNDS.. => "its exact 95 % signed-rank interval",
        _ => "the range of its means of two, too few for 95 %",
    };
    lines.push(format!("  ratios, each with {interval}:"));
    lines.join("\n")
}

/// Four digits, whatever the size.
fn digits(value: f64) -> String {
    match value.abs() {
        100.0.. => format!("{value:.0}"),
        10.0..100.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}
