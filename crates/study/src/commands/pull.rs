//! Values out of what a command printed, by regular expression or JSON pointer.

use model::CommandReading;
use model::command_study::{Agreement, MetricSource, MetricSpec, OutputPart};
use regex::Regex;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// A longer text that must agree is saved as its SHA-256.
const LONGEST_SAVED: usize = 200;

/// What is wrong with a regular expression, if anything is.
pub(crate) fn regex_complaint(pattern: &str) -> Option<String> {
    match Regex::new(pattern) {
        Ok(regex) if regex.captures_len() > 1 => None,
        Ok(_) => Some(format!(
            "`{pattern}` has no group; expected one around the value, as in `took (\\d+) ms`"
        )),
        Err(error) => Some(format!(
            "expected a regular expression: {}",
            one_line(&error.to_string())
        )),
    }
}

/// What is wrong with a JSON pointer, if anything is.
pub(crate) fn pointer_complaint(pointer: &str) -> Option<String> {
    (!pointer.starts_with('/')).then(|| {
        format!("`{pointer}` is no JSON pointer; expected one that starts with `/`, as `/times/0`")
    })
}

/// A metric's value of one run.
///
/// # Errors
/// What the output lacks, for a reader.
pub fn metric(metric: &MetricSpec, reading: &CommandReading, output: &str) -> Result<f64, String> {
    match &metric.from {
        MetricSource::Wall => Ok(reading.wall_ns as f64),
        MetricSource::Cpu => Ok(reading.cpu_ns() as f64),
        MetricSource::PeakMemory => Ok(reading.peak_memory_bytes as f64),
        MetricSource::Regex(pattern) => number(&by_regex(pattern, output)?),
        MetricSource::Json(pointer) => number(&by_pointer(pointer, output)?),
    }
}

/// The part of an output that must agree.
///
/// # Errors
/// What the output lacks, for a reader.
pub fn agreed(agreement: &Agreement, output: &str) -> Result<String, String> {
    let part = match &agreement.on {
        OutputPart::Stdout => output.to_owned(),
        OutputPart::Regex(pattern) => by_regex(pattern, output)?,
        OutputPart::Json(pointer) => by_pointer(pointer, output)?,
    };
    if agreement.tolerance.is_some() {
        number(&part)?;
    }
    Ok(if part.chars().count() > LONGEST_SAVED {
        format!("sha256:{:x}", Sha256::digest(part.as_bytes()))
    } else {
        part
    })
}

/// Whether two such parts agree.
#[must_use]
pub fn agree(agreement: &Agreement, one: &str, other: &str) -> bool {
    match (agreement.tolerance, number(one), number(other)) {
        (Some(tolerance), Ok(a), Ok(b)) => (a - b).abs() <= tolerance * a.abs().max(b.abs()),
        _ => one == other,
    }
}

fn by_regex(pattern: &str, output: &str) -> Result<String, String> {
    let regex = Regex::new(pattern).map_err(|error| one_line(&error.to_string()))?;
    let found = regex.captures(output).and_then(|groups| groups.get(1));
    let found = found.ok_or_else(|| format!("holds nothing that `{pattern}` finds"))?;
    Ok(found.as_str().to_owned())
}

fn by_pointer(pointer: &str, output: &str) -> Result<String, String> {
    let whole: Value =
        serde_json::from_str(output).map_err(|error| format!("is no JSON: {error}"))?;
    match whole.pointer(pointer) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(value) => Ok(value.to_string()),
        None => Err(format!("has nothing at `{pointer}`")),
    }
}

fn number(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.trim().parse().ok();
    let finite = number.filter(|number| number.is_finite());
    finite.ok_or_else(|| format!("has `{}` where a number should be", text.escape_debug()))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
