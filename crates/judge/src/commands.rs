//! Doubts about the runs of one command, whatever it is compared with.

use model::{CommandDoubt, CommandReading};

use crate::{count, median};

/// Distance from the median, in robust standard deviations, from which a run is far away; of normal
/// values one in two million is.
const FAR: f64 = 5.0;
/// A run within this share of the median is not far from it, however steady the others are.
const NEAR: f64 = 0.10;
/// Fewest runs among which a single one can be doubted.
const FEWEST_RUNS: usize = 5;

/// A doubt where processes were still running when the command had ended.
pub(crate) fn left_running(command: &str, readings: &[&CommandReading]) -> Option<CommandDoubt> {
    let left = readings.iter().filter(|reading| reading.left_running);
    let runs = count(left.count());
    (runs > 0).then(|| CommandDoubt::LeftRunning {
        command: command.to_owned(),
        runs,
    })
}

/// A doubt where the first run is out of line with the others, and above them.
pub(crate) fn first_run(command: &str, values: &[f64]) -> Option<CommandDoubt> {
    let (first, rest) = values.split_first()?;
    let centre = median::of(rest)?;
    let is_slower = *first > centre && is_far(*first, rest);
    is_slower.then(|| CommandDoubt::FirstRunSlower {
        command: command.to_owned(),
        ratio: first / centre,
    })
}

/// A doubt where some runs are out of line with the others.
pub(crate) fn outliers(command: &str, values: &[f64]) -> Option<CommandDoubt> {
    let centre = median::of(values)?;
    let far: Vec<f64> = values
        .iter()
        .copied()
        .filter(|value| is_far(*value, values))
        .collect();
    let distance = |value: &f64| (value / centre).ln().abs();
    let furthest = far
        .iter()
        .max_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    Some(CommandDoubt::Outliers {
        command: command.to_owned(),
        outliers: count(far.len()),
        runs: count(values.len()),
        furthest_ratio: furthest / centre,
    })
}

/// Whether a value is out of line with others, both by their spread and by their size.
fn is_far(value: f64, others: &[f64]) -> bool {
    let (Some(centre), Some(sigma)) = (median::of(others), median::robust_sigma(others)) else {
        return false;
    };
    let distance = (value - centre).abs();
    others.len() >= FEWEST_RUNS && distance > FAR * sigma && distance > NEAR * centre
}
