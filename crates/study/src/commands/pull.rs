//! Takes values from the output of a command, by regular expression or JSON pointer.

use model::CommandReading;
use model::command_study::{Agreement, MetricSource, MetricSpec, OutputPart};
use regex_lite::{Regex, RegexBuilder};
use serde_json::Value;

use foreign::sha256;

/// Largest compiled size of an expression, bytes. Matching may compare each letter of the text with
/// the whole expression.
const LARGEST_REGEX: usize = 1 << 17;
/// Longest text that is saved as it is, characters; a longer text that must agree is saved as its
/// SHA-256.
const LONGEST_SAVED: usize = 200;

/// Says what is wrong with a regular expression that must have a group; `None` if it is right.
pub(crate) fn regex_complaint(pattern: &str) -> Option<String> {
    match compile(pattern) {
        Ok(regex) if regex.captures_len() > 1 => None,
        Ok(_) => Some(format!(
            "`{pattern}` has no group; expected one around the value, as in `took (\\d+) ms`"
        )),
        Err(_) => regex_problem(pattern),
    }
}

/// Says what is wrong with a regular expression that needs no group; `None` if it is right.
pub(crate) fn regex_problem(pattern: &str) -> Option<String> {
    let problem = one_line(&compile(pattern).err()?.to_string());
    Some(format!("expected a regular expression: {problem}"))
}

fn compile(pattern: &str) -> Result<Regex, regex_lite::Error> {
    RegexBuilder::new(pattern).size_limit(LARGEST_REGEX).build()
}

/// Says what is wrong with a JSON pointer; `None` if it is right.
pub(crate) fn pointer_complaint(pointer: &str) -> Option<String> {
    (!pointer.starts_with('/')).then(|| {
        format!("`{pointer}` is no JSON pointer; expected one that starts with `/`, as `/times/0`")
    })
}

/// Returns a metric's value from one run; `None` if the metric is optional and the output has
/// nothing, or `null`, in its place.
///
/// # Errors
/// What the output lacks, or has in place of a number, in words for a reader.
pub(super) fn metric(
    metric: &MetricSpec,
    reading: &CommandReading,
    output: &str,
) -> Result<Option<f64>, String> {
    let found = match &metric.from {
        MetricSource::Wall => return Ok(Some(reading.wall_ns as f64)),
        MetricSource::Cpu => return Ok(Some(reading.cpu_ns() as f64)),
        MetricSource::PeakMemory => return Ok(Some(reading.peak_memory_bytes as f64)),
        MetricSource::Regex(pattern) => by_regex(pattern, output),
        MetricSource::Json(pointer) => by_pointer(pointer, output),
    };
    match found {
        // An optional part of a JSON document may be `null` where there is nothing.
        Ok(text) if metric.optional && text == "null" => Ok(None),
        Ok(text) => number(&text).map(Some),
        Err(Lack::Absent(_)) if metric.optional => Ok(None),
        Err(lack) => Err(lack.words()),
    }
}

/// Why an output has no such part.
#[derive(Debug)]
enum Lack {
    /// The part is not in the output.
    Absent(String),
    /// The output cannot be searched, for instance because it is no JSON.
    Unreadable(String),
}

impl Lack {
    fn words(self) -> String {
        match self {
            Self::Absent(words) | Self::Unreadable(words) => words,
        }
    }
}

/// Returns the part of an output that must agree.
///
/// # Errors
/// What the output lacks, in words for a reader.
pub(super) fn agreed(agreement: &Agreement, output: &str) -> Result<String, String> {
    let part = match &agreement.on {
        OutputPart::Stdout => output.to_owned(),
        OutputPart::Regex(pattern) => by_regex(pattern, output).map_err(Lack::words)?,
        OutputPart::Json(pointer) => by_pointer(pointer, output).map_err(Lack::words)?,
    };
    if agreement.tolerance.is_some() {
        number(&part)?;
    }
    Ok(if part.chars().count() > LONGEST_SAVED {
        format!("sha256:{}", sha256::of(&part))
    } else {
        part
    })
}

fn by_regex(pattern: &str, output: &str) -> Result<String, Lack> {
    let regex =
        Regex::new(pattern).map_err(|error| Lack::Unreadable(one_line(&error.to_string())))?;
    let found = regex.captures(output).and_then(|groups| groups.get(1));
    let absent = || Lack::Absent(format!("holds nothing that `{pattern}` finds"));
    Ok(found.ok_or_else(absent)?.as_str().to_owned())
}

fn by_pointer(pointer: &str, output: &str) -> Result<String, Lack> {
    let whole: Value = serde_json::from_str(output)
        .map_err(|error| Lack::Unreadable(format!("is no JSON: {error}")))?;
    match whole.pointer(pointer) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(value) => Ok(value.to_string()),
        None => Err(Lack::Absent(format!("has nothing at `{pointer}`"))),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn part(on: OutputPart, tolerance: Option<f64>) -> Agreement {
        Agreement { on, tolerance }
    }

    #[test]
    fn the_first_find_of_the_first_group_is_the_value() {
        let found = by_regex(r"(\d+) ms", "warm 9 us, took 12 ms, then 13 ms");
        assert_eq!(found.unwrap(), "12");
        let lacks = by_regex("took (x)", "took 12 ms").unwrap_err().words();
        assert_eq!(lacks, "holds nothing that `took (x)` finds");
    }

    #[test]
    fn a_pointer_leads_to_numbers_and_to_numbers_in_texts() {
        let output = r#"{"times": [1.5, "2e3"], "none": null}"#;
        let found = |pointer, output| by_pointer(pointer, output).map_err(Lack::words);
        let value = |pointer| found(pointer, output).and_then(|text| number(&text));
        assert_eq!(value("/times/0"), Ok(1.5));
        assert_eq!(value("/times/1"), Ok(2000.0));
        assert!(value("/none").unwrap_err().contains("`null`"));
        assert!(value("/times/2").unwrap_err().contains("nothing at"));
        assert!(found("/a", "took 5").unwrap_err().contains("no JSON"));
    }

    #[test]
    fn an_optional_metric_may_be_absent_and_is_no_excuse_for_what_is_no_number() {
        let spec = |is_optional: bool| -> MetricSpec {
            let spec = serde_json::json!({
                "name": "a", "title": "A", "unit": "s", "from": {"json": "/a"}, "better": "lower",
                "optional": is_optional
            });
            serde_json::from_value(spec).unwrap()
        };
        let reading = serde_json::json!({
            "wall_ns": 1, "user_ns": 1, "system_ns": 0, "peak_memory_bytes": 1, "end": {"exited": 0}
        });
        let reading: CommandReading = serde_json::from_value(reading).unwrap();
        let told = |is_optional, output| metric(&spec(is_optional), &reading, output);
        for nothing in ["{}", r#"{"a": null}"#] {
            assert_eq!(told(true, nothing), Ok(None));
            assert!(told(false, nothing).is_err());
        }
        assert_eq!(told(true, r#"{"a": 2}"#), Ok(Some(2.0)));
        assert!(told(true, r#"{"a": "x"}"#).is_err());
        assert!(told(true, "Killed").is_err());
    }

    #[test]
    fn what_is_no_finite_number_is_none() {
        for text in ["", "x", "inf", "NaN", "1 2"] {
            assert!(number(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_long_text_is_saved_as_its_hash_and_one_to_be_near_must_be_a_number() {
        let whole = part(OutputPart::Stdout, None);
        assert_eq!(agreed(&whole, "short").unwrap(), "short");
        let long = agreed(&whole, &"x".repeat(201)).unwrap();
        assert_eq!(long.len(), "sha256:".len() + 64);
        let near = part(OutputPart::Regex("sum (.+)".to_owned()), Some(1e-6));
        assert!(agreed(&near, "sum seven").is_err());
    }

    #[test]
    fn an_expression_without_a_group_and_one_that_is_none_are_complained_of() {
        assert_eq!(regex_complaint(r"took (\d+)"), None);
        assert!(regex_complaint("took").unwrap().contains("no group"));
        assert!(
            regex_complaint("took (")
                .unwrap()
                .contains("expected a regular")
        );
        assert!(pointer_complaint("times").unwrap().contains("`/times/0`"));
    }
}
