//! Checks whether a service answers as its description says.

use std::net::SocketAddr;

use model::expected::Likeness;
use regex_lite::Regex;
use serde_json::Value;
use traffic::load::http::HttpProtocol;
use traffic::load::{Probe, probe_whole};
use wire::response::KnownHead;

use crate::target::PROBE_TIMEOUT_NS;

/// The most bytes of a body that are examined: the longer it is, the more time a regular expression
/// takes, and the more memory JSON.
const MOST_BYTES: usize = 1 << 20;

/// The most letters that are shown of what a server sent.
const SHOWN: usize = 200;

/// Asks twice, and checks both answers against the description. They are not compared with each
/// other: equal bodies would say nothing about later ones, since a body may contain the time in
/// seconds.
///
/// # Errors
/// What is wrong with an answer, in words that follow the name of the service.
pub(crate) fn look(
    address: SocketAddr,
    path: &str,
    protocol: &HttpProtocol,
    likeness: &Likeness,
) -> Result<(), String> {
    let once = || {
        let asked = probe_whole(address, protocol, PROBE_TIMEOUT_NS, MOST_BYTES);
        let (probe, head, body) = asked.map_err(|error| format!("is up, but {error}"))?;
        let wrong = complaint(likeness, &probe, &head, &body);
        wrong.map_or(Ok(()), |what| Err(format!("answers `GET {path}` {what}")))
    };
    once().and_then(|()| once())
}

fn complaint(likeness: &Likeness, probe: &Probe, head: &KnownHead, body: &[u8]) -> Option<String> {
    let (status, bytes) = (probe.status, probe.body.bytes);
    if let Some(wanted) = likeness.status
        && wanted != status
    {
        return Some(format!("with status {status}, and not with {wanted}"));
    }
    if let Some([least, most]) = likeness.length
        && !(least..=most).contains(&bytes)
    {
        return Some(format!(
            "with a body of {bytes} bytes, and not of {least} to {most}"
        ));
    }
    let mut headers = likeness.header.iter();
    headers
        .find_map(|(name, wanted)| header_complaint(name, wanted, head))
        .or_else(|| body_complaint(likeness, body, bytes))
}

fn header_complaint(name: &str, wanted: &str, head: &KnownHead) -> Option<String> {
    let values: Vec<&[u8]> = head.values(name).collect();
    if values.contains(&wanted.as_bytes()) {
        return None;
    }
    let seen = values.first().map_or_else(
        || format!("without the header `{name}`"),
        |value| format!("with `{name}: {}`", shown(&value.escape_ascii())),
    );
    Some(format!("{seen}, and not with `{name}: {wanted}`"))
}

/// Examines a body, but only where the description asks for that.
fn body_complaint(likeness: &Likeness, body: &[u8], bytes: u64) -> Option<String> {
    if likeness.regex.is_none() && likeness.json.is_empty() {
        return None;
    }
    if body.len() as u64 != bytes {
        return Some(format!(
            "with a body of {bytes} bytes, too long to look for something in it: \
             a body may have {MOST_BYTES}"
        ));
    }
    let text = String::from_utf8_lossy(body);
    let of_regex = likeness
        .regex
        .as_ref()
        .and_then(|pattern| regex_complaint(pattern, &text));
    of_regex.or_else(|| json_complaint(likeness, &text))
}

fn regex_complaint(pattern: &str, text: &str) -> Option<String> {
    match Regex::new(pattern) {
        Ok(regex) if regex.is_match(text) => None,
        Ok(_) => Some(format!("with a body in which `{pattern}` finds nothing")),
        Err(error) => Some(format!("and `{pattern}` is no regular expression: {error}")),
    }
}

fn json_complaint(likeness: &Likeness, text: &str) -> Option<String> {
    if likeness.json.is_empty() {
        return None;
    }
    let whole: Value = match serde_json::from_str(text) {
        Ok(whole) => whole,
        Err(error) => return Some(format!("with a body that is no JSON: {error}")),
    };
    likeness.json.iter().find_map(|(pointer, wanted)| {
        let seen = match whole.pointer(pointer) {
            Some(found) if is_same(found, wanted) => return None,
            Some(Value::Array(_)) => "a list".to_owned(),
            Some(Value::Object(_)) => "an object".to_owned(),
            Some(found) => format!("`{}`", shown(found)),
            None => "nothing".to_owned(),
        };
        Some(format!(
            "with a body that has {seen} at `{pointer}`, and not `{wanted}`"
        ))
    })
}

fn shown(seen: &impl ToString) -> String {
    foreign::clipped(&seen.to_string(), SHOWN).into_owned()
}

/// Whether two values are equal: 7 and 7.0 are; two whole numbers are compared to their last digit.
fn is_same(found: &Value, wanted: &Value) -> bool {
    match (found, wanted) {
        (Value::Number(found), Value::Number(wanted)) if found.is_f64() || wanted.is_f64() => {
            found.as_f64() == wanted.as_f64()
        }
        _ => found == wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_compared_to_their_last_digit_and_7_is_7_0() {
        for (found, wanted, same) in [
            ("7", "7.0", true),
            ("7.5", "7", false),
            ("9007199254740993", "9007199254740992", false),
            ("9007199254740993", "9007199254740993", true),
            ("\"7\"", "7", false),
            ("true", "true", true),
        ] {
            let [found, wanted] = [found, wanted].map(|text| serde_json::from_str(text).unwrap());
            assert_eq!(is_same(&found, &wanted), same, "{found} {wanted}");
        }
    }

    #[test]
    fn no_more_is_shown_of_what_a_server_has_than_a_person_reads() {
        let likeness = Likeness {
            json: [("/a".to_owned(), 1.into())].into(),
            ..Likeness::default()
        };
        let text = format!("{{\"a\":\"{}\"}}", "x".repeat(100_000));
        let said = json_complaint(&likeness, &text).unwrap();
        assert!(said.len() < 300 && said.contains("xxx…`"), "{said}");
    }
}
