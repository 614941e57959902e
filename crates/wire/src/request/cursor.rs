//! A place in the bytes of a head, and the classes of bytes that may stand there.

use super::Refusal;

/// Bytes of a method or field name (`token`, RFC 9110 §5.6.2).
pub(super) const TOKEN: u8 = 1;
/// Printable ASCII without the space.
pub(super) const VISIBLE: u8 = 2;
/// Bytes of a field value: printable, space, tab, and above ASCII (RFC 9110 §5.5).
pub(super) const VALUE: u8 = 4;
/// Space and tab.
pub(super) const BLANK: u8 = 8;

const CLASSES: [u8; 256] = classes();

#[expect(
    clippy::cast_possible_truncation,
    reason = "the loop ends at 255; a const fn has no try_from"
)]
const fn classes() -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = class(byte as u8);
        byte += 1;
    }
    table
}

const fn class(byte: u8) -> u8 {
    match byte {
        b' ' | b'\t' => VALUE | BLANK,
        b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~' => {
            TOKEN | VISIBLE | VALUE
        }
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => TOKEN | VISIBLE | VALUE,
        0x21..=0x7e => VISIBLE | VALUE,
        0x80..=0xff => VALUE,
        _ => 0,
    }
}

/// Why reading ended before the head did.
#[derive(Debug)]
pub(super) enum Stop {
    NeedMore,
    Refused(Refusal),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Reads a head byte by byte; at the end of the bytes it asks for more.
pub(super) struct Cursor<'a> {
    input: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(input: &'a [u8]) -> Self {
        Self { input, at: 0 }
    }

    /// Bytes read so far.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// The bytes read since a position.
    pub(super) fn since(&self, position: usize) -> &'a [u8] {
        &self.input[position..self.at]
    }

    pub(super) fn peek(&self) -> Result<u8, Stop> {
        self.input.get(self.at).copied().ok_or(Stop::NeedMore)
    }

    pub(super) fn expect(&mut self, wanted: u8, otherwise: Refusal) -> Result<(), Stop> {
        if self.peek()? != wanted {
            return Err(otherwise.into());
        }
        self.at += 1;
        Ok(())
    }

    /// Reads the end of a line: CR LF and nothing else.
    pub(super) fn line_end(&mut self, otherwise: Refusal) -> Result<(), Stop> {
        self.expect(b'\r', otherwise)?;
        self.expect(b'\n', otherwise)
    }

    /// Reads bytes of a class, up to the first that is not of it.
    pub(super) fn take_while(&mut self, class: u8) -> Result<&'a [u8], Stop> {
        let rest = &self.input[self.at..];
        let end = rest
            .iter()
            .position(|byte| CLASSES[usize::from(*byte)] & class == 0)
            .ok_or(Stop::NeedMore)?;
        self.at += end;
        Ok(&rest[..end])
    }
}
