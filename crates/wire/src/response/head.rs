//! The head of an answer: status line and headers, and what they say about the body.

use memchr::{memchr, memmem};

use super::Malformed;

/// Longest head that is accepted, so that a server that never ends its headers cannot fill the
/// client's memory.
pub const HEAD_LIMIT_BYTES: usize = 64 * 1024;

/// How the end of a body is found (RFC 9112, section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyFrame {
    Length(u64),
    Chunked,
    UntilClose,
}

/// The status, and what a head says about framing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) body: BodyFrame,
    pub(super) closes: bool,
}

impl Default for Head {
    fn default() -> Self {
        Self {
            status: 0,
            body: BodyFrame::Length(0),
            closes: false,
        }
    }
}

/// The last head seen. A server repeats its head byte for byte until the `Date` changes, so most
/// heads need one comparison and no parsing; equal bytes frame equally, whatever they say.
#[derive(Debug, Default)]
pub struct KnownHead {
    bytes: Vec<u8>,
    head: Head,
}

impl KnownHead {
    #[inline]
    pub(super) fn at_start_of(&self, input: &[u8]) -> Option<Head> {
        (!self.bytes.is_empty() && input.starts_with(&self.bytes)).then_some(self.head)
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The values of one header of the head, in their order.
    pub fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        fields(&self.bytes)
            .filter(move |(found, _)| found.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| value)
    }

    /// Remembers a head, but no interim one: it would push out the one that matters.
    pub(super) fn remember(&mut self, bytes: &[u8], head: Head) {
        if !head.is_interim() {
            self.bytes.clear();
            self.bytes.extend_from_slice(bytes);
            self.head = head;
        }
    }
}

/// Length of the head with the empty line that ends it; `None` while that is missing. The first
/// `searched` bytes were searched before.
pub(super) fn find_end(bytes: &[u8], searched: usize) -> Result<Option<usize>, Malformed> {
    const END: &[u8] = b"\r\n\r\n";
    check_beginning(bytes)?;
    let from = searched.saturating_sub(END.len() - 1);
    match memmem::find(&bytes[from..], END) {
        Some(at) if from + at + END.len() <= HEAD_LIMIT_BYTES => Ok(Some(from + at + END.len())),
        None if bytes.len() < HEAD_LIMIT_BYTES => Ok(None),
        _ => Err(Malformed::HeadTooLong),
    }
}

/// Tells garbage from an answer by its first bytes: waiting for its end would be a timeout.
fn check_beginning(bytes: &[u8]) -> Result<(), Malformed> {
    const BEGINNING: &[u8] = b"HTTP/1.";
    let shared = bytes.len().min(BEGINNING.len());
    if bytes[..shared] == BEGINNING[..shared] {
        Ok(())
    } else {
        Err(Malformed::StatusLine)
    }
}

impl Head {
    /// Whether it is an answer before the answer, such as `100 Continue`.
    #[inline]
    pub(super) fn is_interim(&self) -> bool {
        self.status / 100 == 1
    }

    /// Parses a head that ends in an empty line.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut lines = Lines(bytes);
        let (status, minor_version) = parse_status_line(lines.next().unwrap_or_default())?;
        let mut fields = Fields {
            keeps_by_default: minor_version > 0,
            ..Fields::default()
        };
        for line in lines.take_while(|line| !line.is_empty()) {
            fields.take(line)?;
        }
        Ok(Self {
            status,
            body: fields.body_frame(status),
            closes: fields.closes(),
        })
    }
}

/// Name and value of each header of a head that was parsed.
fn fields(head: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let lines = Lines(head).skip(1).take_while(|line| !line.is_empty());
    lines.filter_map(|line| {
        let colon = memchr(b':', line)?;
        Some((&line[..colon], line[colon + 1..].trim_ascii()))
    })
}

/// The lines of a head, without their ends.
struct Lines<'a>(&'a [u8]);

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let end = memmem::find(self.0, b"\r\n")?;
        let line = &self.0[..end];
        self.0 = &self.0[end + 2..];
        Some(line)
    }
}

/// Parses `HTTP/1.x SSS reason`; the reason and the space before it may be missing.
fn parse_status_line(line: &[u8]) -> Result<(u16, u8), Malformed> {
    let [minor @ b'0'..=b'9', b' ', a, b, c, rest @ ..] =
        line.strip_prefix(b"HTTP/1.").unwrap_or_default()
    else {
        return Err(Malformed::StatusLine);
    };
    let digits = [*a, *b, *c];
    let is_number = digits.iter().all(u8::is_ascii_digit) && *a != b'0';
    // We never ask for another protocol, so 101 answers nothing of ours.
    if !is_number || digits == *b"101" || !matches!(rest.first(), None | Some(b' ')) {
        return Err(Malformed::StatusLine);
    }
    let status = digits
        .iter()
        .fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0'));
    Ok((status, minor - b'0'))
}

/// The headers that matter for framing.
#[derive(Default)]
struct Fields {
    keeps_by_default: bool,
    says_close: bool,
    says_keep_alive: bool,
    length: Option<u64>,
    coding: Option<Coding>,
}

#[derive(Clone, Copy)]
enum Coding {
    Chunked,
    Other,
}

impl Fields {
    fn take(&mut self, line: &[u8]) -> Result<(), Malformed> {
        let colon = memchr(b':', line).ok_or(Malformed::Header)?;
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.is_empty() || name.iter().any(u8::is_ascii_whitespace) {
            return Err(Malformed::Header);
        }
        if name.eq_ignore_ascii_case(b"content-length") {
            self.take_length(value)?;
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.coding = Some(last_coding(value));
        } else if name.eq_ignore_ascii_case(b"connection") {
            for option in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
                self.says_close |= option.eq_ignore_ascii_case(b"close");
                self.says_keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
            }
        }
        Ok(())
    }

    fn take_length(&mut self, value: &[u8]) -> Result<(), Malformed> {
        let length = parse_length(value).ok_or(Malformed::ContentLength)?;
        match self.length.replace(length) {
            Some(earlier) if earlier != length => Err(Malformed::ContentLength),
            _ => Ok(()),
        }
    }

    fn body_frame(&self, status: u16) -> BodyFrame {
        match (status, self.coding, self.length) {
            (100..=199 | 204 | 304, _, _) => BodyFrame::Length(0),
            (_, Some(Coding::Chunked), _) => BodyFrame::Chunked,
            (_, Some(Coding::Other), _) | (_, None, None) => BodyFrame::UntilClose,
            (_, None, Some(length)) => BodyFrame::Length(length),
        }
    }

    fn closes(&self) -> bool {
        self.says_close || !(self.keeps_by_default || self.says_keep_alive)
    }
}

/// The last coding of a list: a body ends by chunks only if that is `chunked`.
fn last_coding(value: &[u8]) -> Coding {
    let last = value
        .rsplit(|byte| *byte == b',')
        .next()
        .unwrap_or_default();
    if last.trim_ascii().eq_ignore_ascii_case(b"chunked") {
        Coding::Chunked
    } else {
        Coding::Other
    }
}

/// Parses digits only: `str::parse` would accept a sign.
fn parse_length(value: &[u8]) -> Option<u64> {
    if value.is_empty() {
        return None;
    }
    value.iter().try_fold(0_u64, |sum, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        sum.checked_mul(10)?.checked_add(digit)
    })
}
