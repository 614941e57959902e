//! Memory in the place of a socket: it is quicker, and a test sets its room.

use std::io;
use std::os::fd::BorrowedFd;

use traffic::engine::transfer::Transfer;

/// What arrived for our end, and what it has said.
#[derive(Debug, Default)]
pub(super) struct MemoryStream {
    pub(super) arrived: Vec<u8>,
    pub(super) said: Vec<u8>,
    /// How many more bytes it accepts.
    pub(super) room_bytes: usize,
}

impl Transfer for MemoryStream {
    fn receive(&mut self, _: BorrowedFd<'_>, room: &mut [u8]) -> io::Result<Option<usize>> {
        if self.arrived.is_empty() {
            return Ok(None);
        }
        let count = self.arrived.len().min(room.len());
        room[..count].copy_from_slice(&self.arrived[..count]);
        self.arrived.drain(..count);
        Ok(Some(count))
    }

    fn send(&mut self, _: BorrowedFd<'_>, bytes: &[u8], _: bool) -> io::Result<usize> {
        let count = bytes.len().min(self.room_bytes);
        self.said.extend_from_slice(&bytes[..count]);
        self.room_bytes -= count;
        Ok(count)
    }
}
