//! Decides what a request gets of a file, by its preconditions and its range.

use std::time::SystemTime;

use wire::entity_tag::{self, Comparison};
use wire::range::{self, Selection};
use wire::request::{Method, Request};

/// What is known about the present version of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileVersion<'a> {
    /// Entity tag with its quotes, and with `W/` before them if it is weak.
    pub(super) tag: &'a str,
    /// Time of the last modification as the answer states it, in whole seconds.
    pub(super) modified: SystemTime,
    pub(super) bytes: u64,
}

/// The answer to a request for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileAnswer {
    Content(Selection),
    NotModified,
    PreconditionFailed,
}

/// Evaluates the preconditions in the order of RFC 9110 §13.2.2, then the range, for GET or HEAD.
pub(super) fn judge(request: &Request<'_>, file: FileVersion<'_>) -> FileAnswer {
    if !precondition_holds(request, file) {
        return FileAnswer::PreconditionFailed;
    }
    if is_unmodified(request, file) {
        return FileAnswer::NotModified;
    }
    FileAnswer::Content(selection(request, file))
}

/// Evaluates `If-Match`, or if absent `If-Unmodified-Since`.
fn precondition_holds(request: &Request<'_>, file: FileVersion<'_>) -> bool {
    match has_tag(request, "If-Match", file, Comparison::Strong) {
        Some(has_tag) => has_tag,
        None => date(request, "If-Unmodified-Since").is_none_or(|since| file.modified <= since),
    }
}

/// Evaluates `If-None-Match`, or if absent `If-Modified-Since`.
fn is_unmodified(request: &Request<'_>, file: FileVersion<'_>) -> bool {
    match has_tag(request, "If-None-Match", file, Comparison::Weak) {
        Some(has_tag) => has_tag,
        None => date(request, "If-Modified-Since").is_some_and(|since| file.modified <= since),
    }
}

/// Evaluates `Range`, which is defined for GET only.
fn selection(request: &Request<'_>, file: FileVersion<'_>) -> Selection {
    let range = request.value("Range");
    match range.filter(|_| request.method == Method::Get && has_same_version(request, file)) {
        Some(range) => range::select(range, file.bytes),
        None => Selection::Whole,
    }
}

/// Evaluates `If-Range`: whether the requested part is of the version that the client has the rest
/// of. Only a strong tag proves that: file dates can be set by anyone who writes the files, so two
/// versions may share one (RFC 9110 §13.1.5).
fn has_same_version(request: &Request<'_>, file: FileVersion<'_>) -> bool {
    let Some(condition) = request.value("If-Range") else {
        // If there are several, none is to be trusted.
        return request.values("If-Range").next().is_none();
    };
    condition.starts_with(b"\"") && condition == file.tag.as_bytes()
}

/// Returns whether the field lists the file's tag; `None` where the field is absent.
fn has_tag(
    request: &Request<'_>,
    name: &str,
    file: FileVersion<'_>,
    comparison: Comparison,
) -> Option<bool> {
    let mut lists = request.values(name).peekable();
    lists.peek()?;
    Some(lists.any(|list| entity_tag::matches(list, file.tag.as_bytes(), comparison)))
}

/// Returns the date in a field; `None` also for a value that is no date, which must be ignored.
fn date(request: &Request<'_>, name: &str) -> Option<SystemTime> {
    let date = std::str::from_utf8(request.value(name)?).ok()?;
    httpdate::parse_http_date(date).ok()
}

#[cfg(test)]
mod tests {
    use wire::request::{Limits, parse};

    use super::*;

    const MODIFIED: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const BEFORE: &str = "Sun, 06 Nov 1994 08:49:36 GMT";
    const PART: FileAnswer = FileAnswer::Content(Selection::Part { first: 2, bytes: 3 });
    const WHOLE: FileAnswer = FileAnswer::Content(Selection::Whole);

    fn judged_with(tag: &str, method: &str, fields: &str) -> FileAnswer {
        let text = format!("{method} /a HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n");
        let request = parse(text.as_bytes(), Limits::default());
        let (request, _) = request.unwrap().unwrap();
        let file = FileVersion {
            tag,
            modified: httpdate::parse_http_date(MODIFIED).unwrap(),
            bytes: 10,
        };
        judge(&request, file)
    }

    fn judged(fields: &str) -> FileAnswer {
        judged_with("\"1-a\"", "GET", fields)
    }

    #[test]
    fn what_the_client_has_already_is_not_sent() {
        let known = FileAnswer::NotModified;
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
        let failed = FileAnswer::PreconditionFailed;
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
        let list = "\"x\", \"1-a\"";
        for no_proof in ["W/\"1-a\"", "\"x\"", list, MODIFIED, BEFORE, "x", "*"] {
            assert_eq!(judged(&format!("{range}{no_proof}")), WHOLE, "{no_proof}");
        }
        let head = judged_with("\"1-a\"", "HEAD", "Range: bytes=2-4");
        assert_eq!(head, WHOLE);
    }

    #[test]
    fn a_weak_tag_proves_nothing_but_that_the_client_need_not_ask_again() {
        let weak = "W/\"1-a\"";
        let judged = |fields: &str| judged_with(weak, "GET", fields);
        for tag in [weak, "\"1-a\""] {
            let part = format!("Range: bytes=2-4\r\nIf-Range: {tag}");
            assert_eq!(judged(&part), WHOLE);
            let failed = FileAnswer::PreconditionFailed;
            assert_eq!(judged(&format!("If-Match: {tag}")), failed);
            let known = FileAnswer::NotModified;
            assert_eq!(judged(&format!("If-None-Match: {tag}")), known);
        }
        assert_eq!(judged("If-Match: *"), WHOLE);
    }
}
