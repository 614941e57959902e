//! The header fields that decide how a request is framed and whether its connection is kept. All
//! others are checked for form and ignored.

use super::cursor::{BLANK, Cursor, Stop, TOKEN, VALUE};
use super::{Body, Refusal, Version};

/// What the fields read so far say.
#[derive(Debug, Default)]
pub(super) struct Fields {
    count: usize,
    has_host: bool,
    content_length: Option<u64>,
    chunked: bool,
    expects_continue: bool,
    wants_close: bool,
    wants_keep_alive: bool,
}

impl Fields {
    /// Reads one line; `most` is the number of fields allowed.
    pub(super) fn read_next(&mut self, cursor: &mut Cursor<'_>, most: usize) -> Result<(), Stop> {
        let name = cursor.take_while(TOKEN)?;
        if name.is_empty() {
            return Err(Refusal::Field.into());
        }
        // A space is no part of a token, so one before the colon is refused, and so is a continued
        // line.
        cursor.expect(b':', Refusal::Field)?;
        cursor.take_while(BLANK)?;
        let value = cursor.take_while(VALUE)?.trim_ascii_end();
        cursor.line_end(Refusal::Field)?;
        self.count += 1;
        if self.count > most {
            return Err(Refusal::HeadTooLarge.into());
        }
        self.note(name, value).map_err(Stop::from)
    }

    pub(super) fn keep_alive(&self, version: Version) -> bool {
        match version {
            Version::Http11 => !self.wants_close,
            Version::Http10 => self.wants_keep_alive && !self.wants_close,
        }
    }

    pub(super) fn expects_continue(&self) -> bool {
        self.expects_continue
    }

    /// How the body is framed, once all fields are read.
    pub(super) fn body(&self, version: Version) -> Result<Body, Refusal> {
        match (version, self.has_host) {
            (Version::Http11, false) => return Err(Refusal::Host),
            // RFC 9112 §6.1: a transfer coding in HTTP/1.0 means that the framing is faulty.
            (Version::Http10, _) if self.chunked => return Err(Refusal::Framing),
            _ => {}
        }
        match (self.content_length, self.chunked) {
            (Some(_), true) => Err(Refusal::Framing),
            (None, true) => Ok(Body::Chunked),
            (Some(length), false) => Ok(Body::Length(length)),
            (None, false) => Ok(Body::None),
        }
    }

    fn note(&mut self, name: &[u8], value: &[u8]) -> Result<(), Refusal> {
        // The length rules out nearly all names before any letter is compared.
        match name.len() {
            4 if name.eq_ignore_ascii_case(b"host") => self.note_host(value),
            6 if name.eq_ignore_ascii_case(b"expect") => self.note_expect(value),
            10 if name.eq_ignore_ascii_case(b"connection") => {
                self.note_connection(value);
                Ok(())
            }
            14 if name.eq_ignore_ascii_case(b"content-length") => self.note_length(value),
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => self.note_coding(value),
            _ => Ok(()),
        }
    }

    fn note_host(&mut self, value: &[u8]) -> Result<(), Refusal> {
        if self.has_host || !value.iter().copied().all(may_stand_in_host) {
            return Err(Refusal::Host);
        }
        self.has_host = true;
        Ok(())
    }

    fn note_expect(&mut self, value: &[u8]) -> Result<(), Refusal> {
        if !value.eq_ignore_ascii_case(b"100-continue") {
            return Err(Refusal::Expectation);
        }
        self.expects_continue = true;
        Ok(())
    }

    fn note_connection(&mut self, value: &[u8]) {
        for option in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
            self.wants_close |= option.eq_ignore_ascii_case(b"close");
            self.wants_keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    /// Accepts one number of digits only: no sign, no list, and no second field, not even an equal
    /// one.
    fn note_length(&mut self, value: &[u8]) -> Result<(), Refusal> {
        if self.content_length.is_some() || value.is_empty() {
            return Err(Refusal::Framing);
        }
        let length = value.iter().try_fold(0_u64, |length, byte| {
            let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
            length.checked_mul(10)?.checked_add(digit)
        });
        self.content_length = Some(length.ok_or(Refusal::Framing)?);
        Ok(())
    }

    fn note_coding(&mut self, value: &[u8]) -> Result<(), Refusal> {
        if self.chunked {
            return Err(Refusal::Framing);
        }
        if !value.eq_ignore_ascii_case(b"chunked") {
            return Err(Refusal::TransferCoding);
        }
        self.chunked = true;
        Ok(())
    }
}

/// Name and value of each line; the lines were read before and found well-formed.
pub(super) fn lines(fields: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let lines = fields.split(|byte| *byte == b'\n');
    lines.filter_map(|line| {
        let colon = memchr::memchr(b':', line)?;
        Some((&line[..colon], line[colon + 1..].trim_ascii()))
    })
}

/// Whether a byte may stand in a host name, an address in brackets or a port (RFC 3986 §3.2.2); no
/// `@`, no path.
fn may_stand_in_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+;=:[]".contains(&byte)
}
