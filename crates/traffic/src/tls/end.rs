//! One end of a TLS connection, of a server or of a client: a session, and its bytes that wait.

use std::io;
use std::os::fd::BorrowedFd;

use rustls::CommonState;
use rustls::unbuffered::{EncryptError, WriteTraffic};

use super::config::FULL_CONTENT_BYTES;
use super::records::{self, Read, Session};
use crate::engine::transfer::Transfer;

/// What is encrypted and sent at one go: six full records, which lie in a CPU's cache twice over. With
/// what TLS adds they are a segment and a half of loopback, whose packets have at most 65,536 bytes:
/// four would be one and a few bytes, which are a segment of their own, and a receiver that keeps up is
/// woken for it once more. Fewer wake such a receiver more often.
pub(super) const PIECE_BYTES: usize = 6 * FULL_CONTENT_BYTES;
/// More than any cipher suite adds to a record: header, explicit nonce, type and tag.
const RECORD_OVERHEAD_BYTES: usize = 64;

/// A session over a socket that somebody else holds. Records are received into memory that many
/// connections share, and encrypted into such; only what cannot go on at once is kept here.
pub(super) struct End<S> {
    /// `None` once the peer broke the rules: a session that has failed is not to be asked again.
    session: Option<Box<S>>,
    /// Received, but no whole record, or part of a message that spans several.
    leftover: Vec<u8>,
    /// Records for which there was no room yet.
    unsent: Vec<u8>,
    /// The peer said that nothing will follow.
    has_ended: bool,
}

/// Records that were not read yet: those kept from before, and what came behind them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived {
    /// All of them, from the start of the memory on; those that were kept when nothing came.
    pub(super) bytes: usize,
    /// The peer will send no more.
    pub(super) is_last: bool,
    /// The socket may hold more of which it will not tell again.
    pub(super) perhaps_more: bool,
}

/// Room for the records of so much content at one go, in records of at most `content_bytes`.
pub(super) fn room_for_piece(content_bytes: usize) -> Vec<u8> {
    // One more than the piece fills: new keys may be told of before it.
    let records = PIECE_BYTES.div_ceil(content_bytes) + 1;
    vec![0; PIECE_BYTES + records * RECORD_OVERHEAD_BYTES]
}

impl<S: Session> End<S> {
    pub(super) fn new(session: S) -> Self {
        Self {
            session: Some(Box::new(session)),
            leftover: Vec::new(),
            unsent: Vec::new(),
            has_ended: false,
        }
    }

    /// What was agreed on; `None` once the peer broke the rules.
    pub(super) fn state(&self) -> Option<&CommonState> {
        self.session.as_deref().map(|session| &***session)
    }

    pub(super) fn is_handshaking(&self) -> bool {
        self.state().is_some_and(CommonState::is_handshaking)
    }

    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    pub(super) fn has_output(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Room that is kept for what waits, bytes.
    pub(super) fn held_bytes(&self) -> usize {
        self.leftover.capacity() + self.unsent.capacity()
    }

    /// Whether the peer owes the rest of a record or of a message.
    pub(super) fn has_leftover(&self) -> bool {
        !self.leftover.is_empty()
    }

    /// Whether the handshake is done and nothing is under way, in either direction.
    pub(super) fn is_at_rest(&self) -> bool {
        let is_agreed = self.state().is_some_and(|state| !state.is_handshaking());
        is_agreed && self.leftover.is_empty() && self.unsent.is_empty() && !self.has_ended
    }

    /// The session, for somebody else to go on with: this end is of no more use then.
    pub(super) fn take_session(&mut self) -> Option<S> {
        self.session.take().map(|session| *session)
    }

    /// Receives records behind those that were kept; `None` when nothing was there.
    ///
    /// # Errors
    /// `InvalidData` for a message that `incoming` does not hold; else those of the socket.
    pub(super) fn receive<T: Transfer>(
        &self,
        transfer: &mut T,
        socket: BorrowedFd<'_>,
        incoming: &mut [u8],
    ) -> io::Result<Option<Arrived>> {
        let kept = self.leftover.len();
        if kept >= incoming.len() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        incoming[..kept].copy_from_slice(&self.leftover);
        let free = &mut incoming[kept..];
        let room = free.len();
        let count = transfer.receive(socket, free)?;
        Ok(count.map(|count| Arrived {
            bytes: kept + count,
            is_last: count == 0,
            perhaps_more: count == room,
        }))
    }

    /// Reads records and tells how much content they had, which is written into `room`. What the
    /// session answers by itself waits to be sent.
    ///
    /// # Errors
    /// The peer broke the rules, and what it is told of that waits to be sent.
    pub(super) fn read(
        &mut self,
        incoming: &mut [u8],
        room: &mut [u8],
    ) -> Result<usize, rustls::Error> {
        let session = self
            .session
            .as_mut()
            .ok_or(rustls::Error::HandshakeNotComplete)?;
        let read = records::read(&mut **session, incoming, room, &mut self.unsent);
        let Read {
            used,
            content,
            is_end,
        } = read.inspect_err(|_| self.session = None)?;
        self.has_ended |= is_end;
        self.leftover.clear();
        if !self.has_ended {
            self.leftover.extend_from_slice(&incoming[used..]);
        }
        Ok(content)
    }

    /// Has the session write records into memory of the caller.
    ///
    /// # Errors
    /// `NotConnected` before the handshake is done, and once the connection is over.
    pub(super) fn write(
        &mut self,
        act: impl FnOnce(&mut WriteTraffic<'_, S::Side>) -> Result<usize, EncryptError>,
    ) -> io::Result<usize> {
        let session = self.session.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        records::write(&mut **session, &mut self.leftover, &mut self.unsent, act)
    }

    /// Encrypts and sends a piece at a time, and tells how many bytes it took: less than all when
    /// there is no more room, and then records wait. `more` says that others follow at once; a piece
    /// does not wait for the next, which would tear its records in two to fill a segment.
    ///
    /// # Errors
    /// When the connection is of no more use.
    pub(super) fn send<T: Transfer>(
        &mut self,
        transfer: &mut T,
        socket: BorrowedFd<'_>,
        outgoing: &mut [u8],
        bytes: &[u8],
        more: bool,
    ) -> io::Result<usize> {
        self.send_unsent(transfer, socket)?;
        let mut taken = 0;
        for piece in bytes.chunks(PIECE_BYTES) {
            if self.has_output() {
                break;
            }
            taken += piece.len();
            let count = self.write(|traffic| traffic.encrypt(piece, outgoing))?;
            let waits = more && taken == bytes.len();
            self.send_records(transfer, socket, &outgoing[..count], waits)?;
        }
        Ok(taken)
    }

    /// Sends records behind those that wait, as far as there is room.
    ///
    /// # Errors
    /// When the connection is of no more use.
    pub(super) fn send_records<T: Transfer>(
        &mut self,
        transfer: &mut T,
        socket: BorrowedFd<'_>,
        records: &[u8],
        more: bool,
    ) -> io::Result<()> {
        self.send_unsent(transfer, socket)?;
        let sent = match self.has_output() {
            true => 0,
            false => transfer.send(socket, records, more)?,
        };
        self.unsent.extend_from_slice(&records[sent..]);
        Ok(())
    }

    /// Sends what waits, as far as there is room.
    ///
    /// # Errors
    /// When the connection is of no more use.
    pub(super) fn send_unsent<T: Transfer>(
        &mut self,
        transfer: &mut T,
        socket: BorrowedFd<'_>,
    ) -> io::Result<()> {
        if self.unsent.is_empty() {
            return Ok(());
        }
        let sent = transfer.send(socket, &self.unsent, false)?;
        self.unsent.drain(..sent);
        Ok(())
    }

    /// Says something that is no record, to a peer that speaks no TLS.
    pub(super) fn say_in_clear(&mut self, text: &str) {
        self.session = None;
        self.unsent.extend_from_slice(text.as_bytes());
    }
}
