//! A command that is running, and the part of its output that we keep.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::process::Child;

use sys::launch::Stamp;

/// How many of the last bytes of standard error are kept, and how many of their lines are shown.
pub(crate) const KEPT_ERRORS_BYTES: usize = 4096;
const LAST_LINES: usize = 5;

/// A command that is running, and what it has written so far.
pub(super) struct Running {
    pub(super) child: Child,
    pub(super) stamp: Stamp,
    pub(super) ended: OwnedFd,
    pub(super) output: Option<File>,
    pub(super) errors: Option<File>,
    pub(super) said: Vec<u8>,
    pub(super) kept: Kept,
}

/// The beginning of what a command wrote to its standard output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    pub bytes: Vec<u8>,
    /// The most bytes that are kept.
    pub(super) limit: usize,
    /// Whether the command wrote more than is kept.
    pub is_cut: bool,
}

impl Kept {
    fn add(&mut self, said: &[u8]) {
        let room = self.limit - self.bytes.len();
        self.bytes.extend_from_slice(&said[..said.len().min(room)]);
        self.is_cut |= said.len() > room;
    }
}

impl Running {
    /// Reads once from each pipe that is ready, and closes a pipe that has no writers any more.
    pub(super) fn listen(
        &mut self,
        buffer: &mut [u8],
        output: bool,
        errors: bool,
    ) -> io::Result<()> {
        if let Some(pipe) = self.output.as_mut().filter(|_| output) {
            match pipe.read(buffer)? {
                0 => self.output = None,
                read => self.kept.add(&buffer[..read]),
            }
        }
        if let Some(pipe) = self.errors.as_mut().filter(|_| errors) {
            match pipe.read(buffer)? {
                0 => self.errors = None,
                read => self.keep(&buffer[..read]),
            }
        }
        Ok(())
    }

    fn keep(&mut self, said: &[u8]) {
        self.said.extend_from_slice(said);
        let surplus = self.said.len().saturating_sub(KEPT_ERRORS_BYTES);
        self.said.drain(..surplus);
    }
}

/// The last lines of the part of standard error that was kept.
pub(crate) fn last_words(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_is_kept_and_that_there_was_more_is_known() {
        let mut kept = Kept {
            limit: 5,
            ..Kept::default()
        };
        kept.add(b"abcde");
        assert_eq!((&kept.bytes[..], kept.is_cut), (&b"abcde"[..], false));
        kept.add(b"f");
        assert_eq!((&kept.bytes[..], kept.is_cut), (&b"abcde"[..], true));
    }
}
