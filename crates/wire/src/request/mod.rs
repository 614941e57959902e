//! The head of an HTTP/1 request: bytes in, a request out, or why it is refused.
//!
//! Where RFC 9112 lets a server be lenient, this one is strict: whatever two parsers could read
//! in two ways (a second length, a length beside a transfer coding, a folded line, a lone CR or
//! LF) is refused, because that is how requests are smuggled past a proxy.

mod cursor;
mod fields;
mod refusal;
#[cfg(test)]
mod tests;

use cursor::{Cursor, Stop, TOKEN, VISIBLE};
use fields::Fields;
pub use refusal::Refusal;

/// How large a head may be.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of the whole head, from the request line to the empty line.
    pub head_bytes: usize,
    /// Number of header fields.
    pub fields: usize,
}

impl Default for Limits {
    /// 16 KiB and 100 fields, as much as widely used servers allow.
    fn default() -> Self {
        Self {
            head_bytes: 16 * 1024,
            fields: 100,
        }
    }
}

/// A request's head, borrowed from the bytes it was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    pub method: Method,
    /// Path and query, from `/` on, as sent; `*` for `OPTIONS *`, `host:port` for CONNECT.
    pub target: &'a [u8],
    pub version: Version,
    /// The client will send further requests on this connection.
    pub keep_alive: bool,
    /// The client waits for `100 Continue` before it sends the body.
    pub expects_continue: bool,
    pub body: Body,
    /// The lines of all fields as sent, each with its CR LF; [`Self::values`] reads them.
    pub fields: &'a [u8],
}

impl<'a> Request<'a> {
    /// The values of all fields of that name, in their order.
    pub fn values(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        fields::lines(self.fields).filter_map(move |(found, value)| {
            found.eq_ignore_ascii_case(name.as_bytes()).then_some(value)
        })
    }

    /// The value of the one field of that name; `None` also where there are several.
    pub fn value(&self, name: &str) -> Option<&'a [u8]> {
        let mut values = self.values(name);
        values.next().filter(|_| values.next().is_none())
    }
}

/// The methods of RFC 9110 and RFC 5789.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Get,
    Head,
    Post,
    Put,
    Delete,
    Connect,
    Options,
    Trace,
    Patch,
}

/// The version that decides how a connection is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    Http10,
    Http11,
}

/// What follows the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    None,
    /// A body of this many bytes.
    Length(u64),
    /// Chunks, up to one of size zero.
    Chunked,
}

/// Reads one head from the start of `input`. Returns the request and the length of its head, or
/// `None` while the head is not complete. Nothing is allocated and nothing remembered: call it
/// again with more bytes.
///
/// # Errors
/// What is wrong with the head; the connection cannot be used any further.
pub fn parse(input: &[u8], limits: Limits) -> Result<Option<(Request<'_>, usize)>, Refusal> {
    let window = &input[..input.len().min(limits.head_bytes)];
    let mut cursor = Cursor::new(window);
    match head(&mut cursor, limits) {
        Ok(request) => Ok(Some((request, cursor.position()))),
        Err(Stop::Refused(refusal)) => Err(refusal),
        Err(Stop::NeedMore) if window.len() < limits.head_bytes => Ok(None),
        Err(Stop::NeedMore) if window.contains(&b'\n') => Err(Refusal::HeadTooLarge),
        Err(Stop::NeedMore) => Err(Refusal::TargetTooLong),
    }
}

fn head<'a>(cursor: &mut Cursor<'a>, limits: Limits) -> Result<Request<'a>, Stop> {
    // RFC 9112 §2.2: one empty line before the request is ignored.
    if cursor.peek()? == b'\r' {
        cursor.line_end(Refusal::RequestLine)?;
    }
    let method = method(cursor)?;
    let target = target(cursor, method)?;
    let version = version(cursor)?;
    let fields_at = cursor.position();
    let mut fields = Fields::default();
    while cursor.peek()? != b'\r' {
        fields.read_next(cursor, limits.fields)?;
    }
    let lines = cursor.since(fields_at);
    cursor.line_end(Refusal::Field)?;
    Ok(Request {
        method,
        target,
        version,
        keep_alive: fields.keep_alive(version),
        expects_continue: fields.expects_continue(),
        body: fields.body(version)?,
        fields: lines,
    })
}

fn method(cursor: &mut Cursor<'_>) -> Result<Method, Stop> {
    let name = cursor.take_while(TOKEN)?;
    cursor.expect(b' ', Refusal::RequestLine)?;
    Ok(match name {
        b"GET" => Method::Get,
        b"HEAD" => Method::Head,
        b"POST" => Method::Post,
        b"PUT" => Method::Put,
        b"DELETE" => Method::Delete,
        b"CONNECT" => Method::Connect,
        b"OPTIONS" => Method::Options,
        b"TRACE" => Method::Trace,
        b"PATCH" => Method::Patch,
        b"" => return Err(Refusal::RequestLine.into()),
        _ => return Err(Refusal::UnknownMethod.into()),
    })
}

fn target<'a>(cursor: &mut Cursor<'a>, method: Method) -> Result<&'a [u8], Stop> {
    let target = cursor.take_while(VISIBLE)?;
    cursor.expect(b' ', Refusal::RequestLine)?;
    match (target, method) {
        ([b'/', ..], _) | (b"*", Method::Options) | ([_, ..], Method::Connect) => Ok(target),
        _ => path_of_absolute(target).ok_or(Stop::Refused(Refusal::RequestLine)),
    }
}

/// The path of `http://host/path` or `https://host/path`, the form that proxies get and that
/// servers must accept.
fn path_of_absolute(target: &[u8]) -> Option<&[u8]> {
    let after = |scheme: &[u8]| {
        let (begin, rest) = target.split_at_checked(scheme.len())?;
        begin.eq_ignore_ascii_case(scheme).then_some(rest)
    };
    let rest = after(b"http://").or_else(|| after(b"https://"))?;
    match rest.iter().position(|byte| matches!(byte, b'/' | b'?')) {
        Some(0) => None,
        Some(end) if rest[end] == b'/' => Some(&rest[end..]),
        // A query behind an empty path is dropped: no `/` stands before it, and at the root no
        // server looks at it.
        _ => (!rest.is_empty()).then_some(b"/"),
    }
}

fn version(cursor: &mut Cursor<'_>) -> Result<Version, Stop> {
    let text = cursor.take_while(VISIBLE)?;
    cursor.line_end(Refusal::RequestLine)?;
    match text {
        b"HTTP/1.1" => Ok(Version::Http11),
        b"HTTP/1.0" => Ok(Version::Http10),
        // RFC 9110 would treat a later minor version as 1.1, but no other parser does.
        [b'H', b'T', b'T', b'P', b'/', major, b'.', minor]
            if major.is_ascii_digit() && minor.is_ascii_digit() =>
        {
            Err(Refusal::Version.into())
        }
        _ => Err(Refusal::RequestLine.into()),
    }
}
