//! HTTP/1.1 as a protocol of the load loop: one request, prepared once and sent again and again.

use wire::response::{KnownHead, Progress, Reply, ResponseReader};

use super::answers::{Answer, Answers, Seen};
use crate::protocol::{Framing, Protocol};

/// The reasons why a request cannot be put into words.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    #[error("`{0}` is no HTTP method: use letters, such as GET")]
    Method(String),
    #[error("`{0}` is no path: it begins with / and holds no spaces or control characters")]
    Path(String),
    #[error("the host may hold no spaces or control characters")]
    Host,
    #[error("the header `{0}` is not `Name: value` without control characters")]
    Header(String),
    #[error("the header `Host` is given twice, and a request has one")]
    Hosts,
    #[error("the header `{0}` follows from the body and is set by us")]
    Framing(String),
    #[error(transparent)]
    Http2(#[from] http2::RequestError),
}

/// One HTTP/1.1 request, with the check of its answers.
#[derive(Debug)]
pub struct HttpProtocol {
    request: Vec<u8>,
    is_head: bool,
    answers: Answers,
}

impl HttpProtocol {
    /// Prepares a request. `host` goes into the `Host` header unless `headers` has one; the
    /// length of `body` is stated where there is one, or where the method calls for it.
    ///
    /// # Errors
    /// [`RequestError`] for anything that would break the request's own framing.
    pub fn new(
        method: &str,
        host: &str,
        path: &str,
        headers: &[(String, String)],
        body: &[u8],
    ) -> Result<Self, RequestError> {
        check_request_line(method, host, path)?;
        check_headers(headers)?;
        let mut request = format!("{method} {path} HTTP/1.1\r\n");
        if !headers.iter().any(is_host) {
            request += &format!("Host: {host}\r\n");
        }
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        if !body.is_empty() || matches!(method, "POST" | "PUT" | "PATCH") {
            request += &format!("Content-Length: {}\r\n", body.len());
        }
        let mut request = (request + "\r\n").into_bytes();
        request.extend_from_slice(body);
        Ok(Self {
            request,
            is_head: method == "HEAD",
            answers: Answers::compared(),
        })
    }

    /// Returns this request with the comparison of bodies switched off, for a target whose answers
    /// rightly differ from one another.
    #[must_use]
    pub fn without_comparing_bodies(mut self) -> Self {
        self.compare_no_bodies();
        self
    }

    /// Switches the comparison of bodies off.
    pub fn compare_no_bodies(&mut self) {
        self.answers.compares_bodies = false;
    }

    /// Replaces the bytes of the request; the answers are checked as before.
    pub(super) fn replace_bytes(&mut self, request: Vec<u8>) {
        self.request = request;
    }

    /// Returns this request for bodies so long that they are only counted, not read. Where
    /// `body_bytes` is given, each body must have this length.
    #[must_use]
    pub fn counting_bodies(mut self, body_bytes: Option<u64>) -> Self {
        self.answers.reads_bodies = false;
        self.answers.body_bytes = body_bytes;
        self
    }

    /// Returns the length of the request, in bytes.
    pub fn request_bytes(&self) -> usize {
        self.request.len()
    }

    /// Whether answers have no body.
    #[inline]
    pub(super) fn is_head(&self) -> bool {
        self.is_head
    }

    /// Returns the request as it goes over the wire.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.request
    }

    /// Returns a reader for the answers to this request.
    pub(super) fn reader(&self) -> ResponseReader {
        ResponseReader::new(self.is_head)
    }

    #[inline]
    fn framing(&self, memory: &mut Memory, reply: Reply, used: usize) -> Framing {
        let answer = Answer {
            status: reply.status,
            body_bytes: reply.body_bytes,
            mark: reply.mark,
        };
        Framing::Whole {
            used,
            fate: self.answers.fate(&mut memory.seen, answer),
            closes: reply.closes,
        }
    }
}

/// What one thread remembers of HTTP answers.
#[derive(Debug, Default)]
pub struct Memory {
    known: KnownHead,
    seen: Seen,
}

impl Protocol for HttpProtocol {
    type Request = [u8];
    type Input = [u8];
    type Memory = Memory;
    type Exchange = ResponseReader;

    fn memory(&self) -> Memory {
        Memory::default()
    }

    fn exchange(&self, _connection: u32) -> ResponseReader {
        self.reader()
    }

    #[inline]
    fn begin(&self, memory: &mut Memory, exchange: &mut ResponseReader) {
        exchange.begin(self.answers.watches_next(&mut memory.seen));
    }

    #[inline]
    fn request<'a>(&'a self, _exchange: &'a ResponseReader) -> &'a [u8] {
        &self.request
    }

    fn constant_request(&self) -> Option<&[u8]> {
        Some(&self.request)
    }

    #[inline]
    fn read(&self, memory: &mut Memory, exchange: &mut ResponseReader, input: &[u8]) -> Framing {
        match exchange.read(&mut memory.known, input) {
            Ok(Progress::More) => Framing::More,
            Ok(Progress::Whole { reply, used }) => self.framing(memory, reply, used),
            Err(_) => Framing::Malformed,
        }
    }

    fn read_end(&self, memory: &mut Memory, exchange: &mut ResponseReader) -> Framing {
        match exchange.read_end() {
            Ok(reply) => self.framing(memory, reply, 0),
            Err(_) => Framing::CutShort,
        }
    }

    fn first_status(&self, memory: &Memory) -> Option<u16> {
        self.answers.first_status(&memory.seen)
    }
}

pub(super) fn check_request_line(method: &str, host: &str, path: &str) -> Result<(), RequestError> {
    if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return Err(RequestError::Method(method.to_owned()));
    }
    let is_plain = |text: &str| text.bytes().all(|byte| byte > b' ' && byte != 0x7f);
    // The query may hold secrets, so it is left out of what an error shows.
    let shown = || {
        path.split('?')
            .next()
            .unwrap_or_default()
            .escape_debug()
            .to_string()
    };
    if !(path.starts_with('/') || path == "*") || !is_plain(path) {
        return Err(RequestError::Path(shown()));
    }
    if !is_plain(host) {
        return Err(RequestError::Host);
    }
    Ok(())
}

pub(super) fn check_headers(headers: &[(String, String)]) -> Result<(), RequestError> {
    if headers.iter().filter(|header| is_host(header)).count() > 1 {
        return Err(RequestError::Hosts);
    }
    headers
        .iter()
        .try_for_each(|(name, value)| check_header(name, value))
}

fn is_host((name, _): &(String, String)) -> bool {
    name.eq_ignore_ascii_case("host")
}

fn check_header(name: &str, value: &str) -> Result<(), RequestError> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty()
        || !name.bytes().all(is_token)
        || value
            .bytes()
            .any(|byte| byte.is_ascii_control() && byte != b'\t')
    {
        return Err(RequestError::Header(name.escape_debug().to_string()));
    }
    for ours in ["content-length", "transfer-encoding"] {
        if name.eq_ignore_ascii_case(ours) {
            return Err(RequestError::Framing(name.to_owned()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::answers::VERIFIED_EVERY;
    use super::*;
    use crate::protocol::Fate;

    fn request(
        method: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<String, RequestError> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let headers: Vec<_> = headers.iter().map(owned).collect();
        let protocol = HttpProtocol::new(method, "a.test:81", "/b?c", &headers, body)?;
        Ok(String::from_utf8(protocol.request).unwrap())
    }

    #[test]
    fn a_request_says_what_it_must_and_nothing_else() {
        assert_eq!(
            request("GET", &[], b"").unwrap(),
            "GET /b?c HTTP/1.1\r\nHost: a.test:81\r\n\r\n"
        );
        assert_eq!(
            request("POST", &[("host", "x"), ("A", "b")], b"body").unwrap(),
            "POST /b?c HTTP/1.1\r\nhost: x\r\nA: b\r\nContent-Length: 4\r\n\r\nbody"
        );
    }

    #[test]
    fn what_would_break_the_framing_is_refused() {
        assert!(request("GE T", &[], b"").is_err());
        for value in ["b\r\nC: d", "b\x7f"] {
            assert!(request("GET", &[("A", value)], b"").is_err(), "{value:?}");
        }
        assert!(request("GET", &[("A b", "c")], b"").is_err());
        assert!(request("POST", &[("Content-length", "9")], b"body").is_err());
        assert!(HttpProtocol::new("GET", "a", "/a b", &[], b"").is_err());
        assert!(HttpProtocol::new("GET", "a b", "/", &[], b"").is_err());
    }

    #[test]
    fn the_query_is_not_in_the_error() {
        let error = HttpProtocol::new("GET", "a", "/a b?token=secret", &[], b"").unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }

    fn answer(protocol: &HttpProtocol, memory: &mut Memory, text: &str) -> Framing {
        let mut exchange = protocol.exchange(0);
        protocol.begin(memory, &mut exchange);
        protocol.read(memory, &mut exchange, text.as_bytes())
    }

    #[test]
    fn a_sample_of_the_bodies_is_compared_with_the_first_right_one() {
        let protocol = HttpProtocol::new("GET", "a", "/", &[], b"").unwrap();
        let mut memory = protocol.memory();
        let mut wrong_bodies = 0;
        for index in 0..=2 * VERIFIED_EVERY {
            let text = match index {
                0 => "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy",
                1..VERIFIED_EVERY => "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nright",
                VERIFIED_EVERY => "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nRIGHT",
                _ => "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong",
            };
            let framing = answer(&protocol, &mut memory, text);
            wrong_bodies += u32::from(matches!(
                framing,
                Framing::Whole {
                    fate: Fate::Body,
                    ..
                }
            ));
        }
        assert_eq!(wrong_bodies, 1);
        assert_eq!(protocol.first_status(&memory), Some(200));
    }
}
