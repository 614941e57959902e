//! Bodies in chunks (RFC 9112, section 7.1). Framing is read byte by byte, data in whole runs.

use super::{HEAD_LIMIT_BYTES, Malformed};

/// What the next byte must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// A digit of a chunk's size, or what ends the size.
    Size {
        any_digit: bool,
    },
    /// An extension after the size, which is ignored.
    Extension,
    SizeLineFeed,
    Data,
    DataReturn,
    DataLineFeed,
    /// The start of a line after the last chunk.
    TrailerStart,
    Trailer,
    TrailerLineFeed,
    LastLineFeed,
}

/// Where a reader is within a chunked body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunks {
    place: Expected,
    /// Bytes of the present chunk that are still to come.
    left: u64,
    /// Bytes of extensions and trailers so far; their limit is that of a head.
    aside_bytes: usize,
}

impl Default for Chunks {
    fn default() -> Self {
        Self {
            place: Expected::Size { any_digit: false },
            left: 0,
            aside_bytes: 0,
        }
    }
}

impl Chunks {
    /// Reads a piece of the body and passes its data on. Returns how many bytes belong to the body,
    /// and whether it is over.
    pub(super) fn read(
        &mut self,
        input: &[u8],
        mut on_data: impl FnMut(&[u8]),
    ) -> Result<(usize, bool), Malformed> {
        let mut used = 0;
        while used < input.len() {
            if self.place == Expected::Data {
                let run = self.data_run(&input[used..]);
                on_data(&input[used..used + run]);
                used += run;
                continue;
            }
            let ended = self.step(input[used])?;
            used += 1;
            if ended {
                return Ok((used, true));
            }
        }
        Ok((used, false))
    }

    /// Counts the data at the start of `input` as read, and returns its length.
    fn data_run(&mut self, input: &[u8]) -> usize {
        let run = input
            .len()
            .min(usize::try_from(self.left).unwrap_or(usize::MAX));
        self.left -= run as u64;
        if self.left == 0 {
            self.place = Expected::DataReturn;
        }
        run
    }

    /// Reads one byte of framing; true if it was the body's last.
    fn step(&mut self, byte: u8) -> Result<bool, Malformed> {
        self.place = match (self.place, byte) {
            (Expected::Size { .. }, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                self.add_digit(byte)?
            }
            (Expected::Size { any_digit: true } | Expected::Extension, b'\r') => {
                Expected::SizeLineFeed
            }
            (Expected::Size { any_digit: true }, b';' | b' ' | b'\t') => Expected::Extension,
            (Expected::Extension, _) => self.aside(Expected::Extension)?,
            (Expected::SizeLineFeed, b'\n') if self.left == 0 => Expected::TrailerStart,
            (Expected::SizeLineFeed, b'\n') => Expected::Data,
            (Expected::DataReturn, b'\r') => Expected::DataLineFeed,
            (Expected::DataLineFeed, b'\n') => Expected::Size { any_digit: false },
            (Expected::TrailerStart, b'\r') => Expected::LastLineFeed,
            (Expected::Trailer, b'\r') => Expected::TrailerLineFeed,
            (Expected::TrailerStart | Expected::Trailer, _) => self.aside(Expected::Trailer)?,
            (Expected::TrailerLineFeed, b'\n') => Expected::TrailerStart,
            (Expected::LastLineFeed, b'\n') => return Ok(true),
            _ => return Err(Malformed::Chunk),
        };
        Ok(false)
    }

    fn add_digit(&mut self, byte: u8) -> Result<Expected, Malformed> {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            _ => (byte | 0x20) - b'a' + 10,
        };
        self.left = self.left.checked_mul(16).ok_or(Malformed::Chunk)? + u64::from(digit);
        Ok(Expected::Size { any_digit: true })
    }

    fn aside(&mut self, place: Expected) -> Result<Expected, Malformed> {
        self.aside_bytes += 1;
        if self.aside_bytes > HEAD_LIMIT_BYTES {
            return Err(Malformed::HeadTooLong);
        }
        Ok(place)
    }
}
