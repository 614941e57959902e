//! Moves bytes by way of a ring: bytes that it has already received, and bytes that it is to send
//! together with those of other connections in a batch.

use std::io;
use std::os::fd::BorrowedFd;

use sys::uring::serving::ServingRing;

use crate::engine::transfer::{Calls, Transfer};

/// The ring of a worker, and the input that it offers to the connection being attended to.
pub(in crate::engine) struct Carriage {
    pub(super) ring: ServingRing,
    source: Source,
    /// How many bytes of the source the connection has received.
    taken: usize,
    /// The peer has closed after the bytes of the source.
    ends: bool,
    /// Bytes sent join the message that the ring is to send. Otherwise they are sent at once.
    gathers: bool,
}

enum Source {
    Nothing,
    /// The bytes that the ring received last.
    Received,
    Kept(Vec<u8>),
}

impl Carriage {
    pub(super) fn new(ring: ServingRing) -> Self {
        Self {
            ring,
            source: Source::Nothing,
            taken: 0,
            ends: false,
            gathers: false,
        }
    }

    /// Offers the bytes that the ring received last.
    #[inline]
    pub(super) fn offer_received(&mut self) {
        (self.source, self.taken, self.ends) = (Source::Received, 0, false);
    }

    /// Offers bytes that were received earlier, and after them perhaps the end of the connection.
    pub(super) fn offer_kept(&mut self, kept: Vec<u8>, ends: bool) {
        (self.source, self.taken, self.ends) = (Source::Kept(kept), 0, ends);
    }

    /// Whether the connection has not received all that is offered.
    #[inline]
    pub(super) fn has_more(&self) -> bool {
        self.ends || !self.rest().is_empty()
    }

    /// Stops offering; returns the bytes that the connection did not receive.
    #[inline]
    pub(super) fn withdraw(&mut self) -> Vec<u8> {
        let rest = self.rest().to_vec();
        (self.source, self.ends) = (Source::Nothing, false);
        rest
    }

    /// Sets whether the output of a connection is sent together with the others of its batch.
    pub(super) fn gather(&mut self, gathers: bool) {
        self.gathers = gathers;
    }

    #[inline]
    fn rest(&self) -> &[u8] {
        let bytes = match &self.source {
            Source::Nothing => return &[],
            Source::Received => self.ring.received(),
            Source::Kept(kept) => kept,
        };
        &bytes[self.taken..]
    }
}

impl Transfer for Carriage {
    #[inline]
    fn receive(&mut self, _socket: BorrowedFd<'_>, room: &mut [u8]) -> io::Result<Option<usize>> {
        let rest = self.rest();
        let count = rest.len().min(room.len());
        room[..count].copy_from_slice(&rest[..count]);
        self.taken += count;
        match count {
            0 => Ok(std::mem::take(&mut self.ends).then_some(0)),
            _ => Ok(Some(count)),
        }
    }

    #[inline]
    fn send(&mut self, socket: BorrowedFd<'_>, bytes: &[u8], more: bool) -> io::Result<usize> {
        match self.gathers {
            true => Ok(self.ring.append(bytes)),
            false => Calls.send(socket, bytes, more),
        }
    }
}
