//! What of a file a request gets, by its preconditions and its range.

use std::time::{Duration, SystemTime};

use wire::entity_tag::{self, Comparison};
use wire::range::{self, Selection};
use wire::request::{Method, Request};

/// What is known of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Version<'a> {
    /// A strong entity tag, with its quotes.
    pub(super) tag: &'a str,
    /// To the second, as it is told.
    pub(super) modified: SystemTime,
    pub(super) bytes: u64,
}

/// What is to be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Content(Selection),
    NotModified,
    PreconditionFailed,
}

/// Evaluates the preconditions in the order of RFC 9110 §13.2.2, then the range, for GET or HEAD.
pub(super) fn judge(request: &Request<'_>, file: Version<'_>, now: SystemTime) -> Answer {
    if !is_as_wanted(request, file) {
        return Answer::PreconditionFailed;
    }
    if is_known(request, file) {
        return Answer::NotModified;
    }
    Answer::Content(selection(request, file, now))
}

/// `If-Match`, or else `If-Unmodified-Since`.
fn is_as_wanted(request: &Request<'_>, file: Version<'_>) -> bool {
    match has_tag(request, "If-Match", file, Comparison::Strong) {
        Some(has_tag) => has_tag,
        None => date(request, "If-Unmodified-Since").is_none_or(|since| file.modified <= since),
    }
}

/// `If-None-Match`, or else `If-Modified-Since`.
fn is_known(request: &Request<'_>, file: Version<'_>) -> bool {
    match has_tag(request, "If-None-Match", file, Comparison::Weak) {
        Some(has_tag) => has_tag,
        None => date(request, "If-Modified-Since").is_some_and(|since| file.modified <= since),
    }
}

/// Ranges are defined for GET alone.
fn selection(request: &Request<'_>, file: Version<'_>, now: SystemTime) -> Selection {
    let range = request.value("Range");
    match range.filter(|_| request.method == Method::Get && is_same(request, file, now)) {
        Some(range) => range::select(range, file.bytes),
        None => Selection::Whole,
    }
}

/// `If-Range`: whether the part that is wanted is one of what the client has the rest of.
fn is_same(request: &Request<'_>, file: Version<'_>, now: SystemTime) -> bool {
    let Some(condition) = request.value("If-Range") else {
        // Of several none is to be trusted.
        return request.values("If-Range").next().is_none();
    };
    if condition.ends_with(b"\"") {
        return entity_tag::matches(condition, file.tag.as_bytes(), Comparison::Strong);
    }
    // A date tells two versions apart only if neither was made within its second (§8.8.2.2).
    let is_settled = file.modified + Duration::from_secs(1) <= now;
    is_settled && parsed(condition) == Some(file.modified)
}

/// `None` where the field is absent.
fn has_tag(
    request: &Request<'_>,
    name: &str,
    file: Version<'_>,
    comparison: Comparison,
) -> Option<bool> {
    let mut lists = request.values(name).peekable();
    lists.peek()?;
    Some(lists.any(|list| entity_tag::matches(list, file.tag.as_bytes(), comparison)))
}

/// `None` also for what is no date, which is to be overlooked.
fn date(request: &Request<'_>, name: &str) -> Option<SystemTime> {
    request.value(name).and_then(parsed)
}

fn parsed(date: &[u8]) -> Option<SystemTime> {
    httpdate::parse_http_date(std::str::from_utf8(date).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use wire::request::{Limits, parse};

    use super::*;

    const MODIFIED: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const BEFORE: &str = "Sun, 06 Nov 1994 08:49:36 GMT";
    const PART: Answer = Answer::Content(Selection::Part { first: 2, bytes: 3 });
    const WHOLE: Answer = Answer::Content(Selection::Whole);

    fn judged_after(method: &str, fields: &str, seconds: u64) -> Answer {
        let text = format!("{method} /a HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n");
        let request = parse(text.as_bytes(), Limits::default());
        let (request, _) = request.unwrap().unwrap();
        let modified = httpdate::parse_http_date(MODIFIED).unwrap();
        let file = Version {
            tag: "\"1-a\"",
            modified,
            bytes: 10,
        };
        judge(&request, file, modified + Duration::from_secs(seconds))
    }

    fn judged(fields: &str) -> Answer {
        judged_after("GET", fields, 60)
    }

    #[test]
    fn what_the_client_has_already_is_not_sent() {
        let known = Answer::NotModified;
        assert_eq!(judged("If-None-Match: W/\"1-a\""), known);
        assert_eq!(judged("If-None-Match: \"x\"\r\nIf-None-Match: *"), known);
        assert_eq!(judged(&format!("If-Modified-Since: {MODIFIED}")), known);
        assert_eq!(judged(&format!("If-Modified-Since: {BEFORE}")), WHOLE);
        assert_eq!(judged("If-Modified-Since: yesterday"), WHOLE);
        // The tag is the better witness.
        let both = format!("If-None-Match: \"x\"\r\nIf-Modified-Since: {MODIFIED}");
        assert_eq!(judged(&both), WHOLE);
    }

    #[test]
    fn what_is_no_longer_as_the_client_wants_it_is_refused() {
        let failed = Answer::PreconditionFailed;
        assert_eq!(judged("If-Match: W/\"1-a\""), failed);
        assert_eq!(judged("If-Match: \"x\", \"1-a\""), WHOLE);
        assert_eq!(judged(&format!("If-Unmodified-Since: {BEFORE}")), failed);
        assert_eq!(judged(&format!("If-Unmodified-Since: {MODIFIED}")), WHOLE);
        let both = format!("If-Match: *\r\nIf-Unmodified-Since: {BEFORE}");
        assert_eq!(judged(&both), WHOLE);
    }

    #[test]
    fn a_part_is_sent_only_of_what_the_client_has_the_rest_of() {
        let range = "Range: bytes=2-4\r\nIf-Range: ";
        assert_eq!(judged("Range: bytes=2-4"), PART);
        assert_eq!(judged(&format!("{range}\"1-a\"")), PART);
        assert_eq!(judged(&format!("{range}{MODIFIED}")), PART);
        for stale in ["W/\"1-a\"", "\"x\"", BEFORE, "x", "*"] {
            assert_eq!(judged(&format!("{range}{stale}")), WHOLE, "{stale}");
        }
        // Whoever asks within the second may have what was there before in the same second.
        let by_date = format!("{range}{MODIFIED}");
        assert_eq!(judged_after("GET", &by_date, 0), WHOLE);
        assert_eq!(judged_after("HEAD", "Range: bytes=2-4", 60), WHOLE);
    }
}
