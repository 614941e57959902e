//! Finds what makes no sense in the description of expected answers.

use model::expected::Likeness;
use serde_json::Value;

use crate::commands::pull::{pointer_complaint, regex_problem};
use crate::spec::MOST_ITEMS;

/// Longest expression, pointer or value, bytes.
const LONGEST_TEXT: usize = 1000;

/// Returns the first thing that is wrong, with the keys below the table that lead to it.
pub(crate) fn complaint(likeness: &Likeness) -> Option<(Vec<&str>, String)> {
    if *likeness == Likeness::default() {
        let what = "expected at least one of `status`, `header`, `length`, `regex` and `json`";
        return Some((Vec::new(), what.to_owned()));
    }
    let status = likeness
        .status
        .filter(|status| !(200..400).contains(status));
    if status.is_some() {
        let what = "expected 200 to 399: any other status is a failed request";
        return Some((vec!["status"], what.to_owned()));
    }
    if likeness.length.is_some_and(|[least, most]| least > most) {
        let what = "expected the least and the most bytes of a body, as in [100, 20000]";
        return Some((vec!["length"], what.to_owned()));
    }
    header_complaint(likeness)
        .or_else(|| {
            let pattern = likeness.regex.as_ref()?;
            let what = long(pattern).or_else(|| regex_problem(pattern))?;
            Some((vec!["regex"], what))
        })
        .or_else(|| json_complaint(likeness))
}

fn header_complaint(likeness: &Likeness) -> Option<(Vec<&str>, String)> {
    if likeness.header.len() > MOST_ITEMS {
        return Some((vec!["header"], too_many()));
    }
    likeness.header.iter().find_map(|(name, value)| {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        let what = match value {
            _ if name.is_empty() || !name.bytes().all(is_name) => {
                format!("`{}` is no name of a header", name.escape_debug())
            }
            value if value.chars().any(char::is_control) || value.trim() != value => {
                "expected the exact value of the header, without space around it".to_owned()
            }
            value => long(value)?,
        };
        Some((vec!["header", name], what))
    })
}

fn json_complaint(likeness: &Likeness) -> Option<(Vec<&str>, String)> {
    if likeness.json.len() > MOST_ITEMS {
        return Some((vec!["json"], too_many()));
    }
    likeness.json.iter().find_map(|(pointer, value)| {
        let problem = long(pointer).or_else(|| pointer_complaint(pointer));
        let what = problem.or_else(|| match value {
            Value::String(text) => long(text),
            Value::Number(_) | Value::Bool(_) => None,
            _ => Some("expected a text, a number, true or false".to_owned()),
        })?;
        Some((vec!["json", pointer], what))
    })
}

fn long(text: &str) -> Option<String> {
    (text.len() > LONGEST_TEXT).then(|| format!("expected at most {LONGEST_TEXT} bytes"))
}

fn too_many() -> String {
    format!("expected at most {MOST_ITEMS} of them")
}
