//! What of a file a request gets, by its preconditions and its range.

use std::time::SystemTime;

use wire::entity_tag::{self, Comparison};
use wire::range::{self, Selection};
use wire::request::{Method, Request};

/// What is known of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileVersion<'a> {
    /// An entity tag with its quotes, and `W/` before them where it is a weak one.
    pub(super) tag: &'a str,
    /// To the second, as it is told.
    pub(super) modified: SystemTime,
    pub(super) bytes: u64,
}

/// What is to be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileAnswer {
    Content(Selection),
    NotModified,
    PreconditionFailed,
}

/// Evaluates the preconditions in the order of RFC 9110 §13.2.2, then the range, for GET or HEAD.
pub(super) fn judge(request: &Request<'_>, file: FileVersion<'_>) -> FileAnswer {
    if !is_as_wanted(request, file) {
        return FileAnswer::PreconditionFailed;
    }
    if is_known(request, file) {
        return FileAnswer::NotModified;
    }
    FileAnswer::Content(selection(request, file))
}

/// `If-Match`, or else `If-Unmodified-Since`.
fn is_as_wanted(request: &Request<'_>, file: FileVersion<'_>) -> bool {
    match has_tag(request, "If-Match", file, Comparison::Strong) {
        Some(has_tag) => has_tag,
        None => date(request, "If-Unmodified-Since").is_none_or(|since| file.modified <= since),
    }
}

/// `If-None-Match`, or else `If-Modified-Since`.
fn is_known(request: &Request<'_>, file: FileVersion<'_>) -> bool {
    match has_tag(request, "If-None-Match", file, Comparison::Weak) {
        Some(has_tag) => has_tag,
        None => date(request, "If-Modified-Since").is_some_and(|since| file.modified <= since),
    }
}

/// Ranges are defined for GET alone.
fn selection(request: &Request<'_>, file: FileVersion<'_>) -> Selection {
    let range = request.value("Range");
    match range.filter(|_| request.method == Method::Get && is_same(request, file)) {
        Some(range) => range::select(range, file.bytes),
        None => Selection::Whole,
    }
}

/// `If-Range`: whether the part that is wanted is one of what the client has the rest of. A strong
/// tag alone says so: files get dates from whoever writes them, so two versions may share one
/// (RFC 9110 §13.1.5).
fn is_same(request: &Request<'_>, file: FileVersion<'_>) -> bool {
    let Some(condition) = request.value("If-Range") else {
        // Of several none is to be trusted.
        return request.values("If-Range").next().is_none();
    };
    condition.starts_with(b"\"") && condition == file.tag.as_bytes()
}

/// `None` where the field is absent.
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

/// `None` also for what is no date, which is to be overlooked.
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
