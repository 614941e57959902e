//! The output that a connection still has to send: bytes, and after them perhaps a part of a file.

use std::io;

use super::channel::{Channel, LEAST_TURN_BYTES};
use super::file_part::FilePart;
use super::transfer::Transfer;

/// Total of the turns of all connections of a worker, bytes. A hundred sockets that are all kept
/// full cost both ends more, and carry less, than a hundred that are given a little at a time.
const ALL_TURNS_BYTES: u64 = 32 * 1024 * 1024;

/// The least that sending from a file is charged, bytes: looking the file up, opening and closing
/// it takes as long as sending this many bytes.
const FILE_COST_BYTES: u64 = 16 * 1024;

/// Bytes, and then the file whose head they are, if there is one.
#[derive(Debug, Default)]
pub struct Output {
    bytes: Vec<u8>,
    sent_bytes: usize,
    file: Option<FilePart>,
    /// Bytes sent since the connection began.
    total_sent: u64,
}

/// What may still be sent of files before the other connections have their turn, bytes.
pub(super) struct Turn(u64);

impl Turn {
    /// The turn of the channel, or a smaller one where a worker has many connections.
    pub(super) fn of<C: Channel>(connections: usize) -> Self {
        let share = ALL_TURNS_BYTES / connections.max(1) as u64;
        Self(share.clamp(LEAST_TURN_BYTES, C::FILE_TURN_BYTES))
    }

    fn charge(&mut self, sent: u64) {
        if sent > 0 {
            self.0 = self.0.saturating_sub(sent.max(FILE_COST_BYTES));
        }
    }
}

impl Output {
    /// The buffer to which answers are appended; nothing may be appended after a file.
    pub fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Appends a part of a file after the bytes. Nothing may be appended until it is sent.
    pub fn attach(&mut self, part: FilePart) {
        self.file = Some(part);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.file.is_none()
    }

    /// Bytes that wait in memory, without the file.
    pub(super) fn held_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes still to be sent, including the file.
    pub(super) fn left_bytes(&self) -> u64 {
        let file_bytes = self.file.as_ref().map_or(0, |part| part.bytes);
        self.bytes.len() as u64 + file_bytes
    }

    /// Capacity of the buffer in memory, bytes.
    pub(super) fn room_bytes(&self) -> usize {
        self.bytes.capacity()
    }

    /// Bytes sent since the connection began.
    pub(super) fn total_sent(&self) -> u64 {
        self.total_sent
    }

    pub(super) fn has_file(&self) -> bool {
        self.file.is_some()
    }

    /// Sends as much as there is room for, but no more of a file than the turn allows.
    pub(super) fn flush<C: Channel, T: Transfer>(
        &mut self,
        channel: &mut C,
        (common, transfer): (&mut C::Common, &mut T),
        turn: &mut Turn,
    ) -> io::Result<()> {
        if !self.bytes.is_empty() || channel.has_output() {
            let rest = &self.bytes[self.sent_bytes..];
            let sent = channel.send(common, transfer, rest, self.file.is_some())?;
            self.sent_bytes += sent;
            self.total_sent += sent as u64;
            if self.sent_bytes == self.bytes.len() {
                self.bytes.clear();
                self.sent_bytes = 0;
            }
        }
        if !self.bytes.is_empty() {
            return Ok(());
        }
        let Some(part) = &mut self.file else {
            return Ok(());
        };
        let before = part.offset;
        let is_sent = send_file(part, channel, (common, transfer), turn)?;
        self.total_sent += part.offset - before;
        if is_sent {
            self.file = None;
        }
        Ok(())
    }
}

/// Sends as much of a file as the turn allows. Returns whether all of it was sent. A file that was
/// truncated or written to since its length was promised is an error: the connection must end, or
/// the peer would wait for the rest, or take two halves for one file.
fn send_file<C: Channel, T: Transfer>(
    part: &mut FilePart,
    channel: &mut C,
    (common, transfer): (&mut C::Common, &mut T),
    turn: &mut Turn,
) -> io::Result<bool> {
    if turn.0 == 0 {
        return Ok(false);
    }
    if part.bytes <= turn.0 {
        part.see_unchanged()?;
    }
    let most = usize::try_from(part.bytes.min(turn.0)).unwrap_or(usize::MAX);
    let sent = channel.send_file(common, transfer, part, most)? as u64;
    turn.charge(sent);
    part.advance(sent);
    Ok(part.bytes == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::channel::Clear;

    #[test]
    fn a_turn_is_two_megabytes_of_a_few_connections_and_a_share_of_many() {
        let mib = |connections| Turn::of::<Clear>(connections).0 as f64 / f64::from(1 << 20);
        let turns = [0, 1, 16, 32, 64, 128, 9_000].map(mib);
        assert_eq!(turns, [2.0, 2.0, 2.0, 1.0, 0.5, 0.25, 0.25]);
    }
}
