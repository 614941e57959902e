//! What a connection has still to send: bytes, and after them perhaps a part of a file.

use std::fs::File;
use std::io;

use super::channel::Channel;
use super::transfer::Transfer;

/// Of a file no more leaves at one go, so that a large one does not keep the other connections of
/// its worker waiting: some tens of microseconds, over TLS more.
const TURN_BYTES: u64 = 256 * 1024;

/// Bytes, and then a part of a file.
#[derive(Debug, Default)]
pub struct Output {
    bytes: Vec<u8>,
    sent_bytes: usize,
    file: Option<FilePart>,
}

/// A part of a file that is sent from the page cache, in the clear without a copy in this process.
#[derive(Debug)]
pub struct FilePart {
    pub file: File,
    pub offset: u64,
    /// At least one.
    pub bytes: u64,
}

/// What may still be sent of files before the others have their turn, bytes.
pub(super) struct Turn(u64);

impl Turn {
    pub(super) fn new() -> Self {
        Self(TURN_BYTES)
    }
}

impl Output {
    /// Where answers are appended; never after a file.
    pub fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Has a part of a file follow the bytes. Nothing is appended before it is sent.
    pub fn attach(&mut self, part: FilePart) {
        self.file = Some(part);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.file.is_none()
    }

    /// Bytes that are held in memory.
    pub(super) fn held_bytes(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn has_file(&self) -> bool {
        self.file.is_some()
    }

    /// Sends what there is room for, and of a file no more than the turn allows.
    pub(super) fn flush<C: Channel, T: Transfer>(
        &mut self,
        channel: &mut C,
        (common, transfer): (&mut C::Common, &mut T),
        turn: &mut Turn,
    ) -> io::Result<()> {
        if !self.bytes.is_empty() || channel.has_output() {
            let rest = &self.bytes[self.sent_bytes..];
            self.sent_bytes += channel.send(common, transfer, rest, self.file.is_some())?;
            if self.sent_bytes == self.bytes.len() {
                self.bytes.clear();
                self.sent_bytes = 0;
            }
        }
        if self.bytes.is_empty() && self.file.is_some() {
            return self.send_file(channel, (common, transfer), turn);
        }
        Ok(())
    }

    /// A file that was cut since its length was promised is an error: the connection must end, or
    /// the peer would wait for the rest.
    fn send_file<C: Channel, T: Transfer>(
        &mut self,
        channel: &mut C,
        (common, transfer): (&mut C::Common, &mut T),
        turn: &mut Turn,
    ) -> io::Result<()> {
        let Some(part) = self.file.as_mut().filter(|_| turn.0 > 0) else {
            return Ok(());
        };
        let most = usize::try_from(part.bytes.min(turn.0)).unwrap_or(usize::MAX);
        let sent = channel.send_file(common, transfer, part, most)? as u64;
        turn.0 = turn.0.saturating_sub(sent);
        part.offset += sent;
        part.bytes = part.bytes.saturating_sub(sent);
        if part.bytes == 0 {
            self.file = None;
        }
        Ok(())
    }
}
