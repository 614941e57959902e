//! One end of a TLS connection, of a server or of a client: a session, and the bytes that wait.

use std::io;
use std::os::fd::BorrowedFd;

use rustls::CommonState;
use rustls::unbuffered::{EncryptError, WriteTraffic};

use super::config::FULL_CONTENT_BYTES;
use super::records::{self, Read, Session};
use crate::engine::transfer::Transfer;

/// Bytes of content that are encrypted and sent at one go: six full records, which fit twice into a
/// CPU's cache. With what TLS adds they fill one and a half segments of loopback, whose packets
/// have at most 65,536 bytes. Four records would fill one segment and a few bytes, which are a
/// segment of their own and wake a receiver that keeps up once more. Fewer records wake such a
/// receiver more often.
pub(super) const PIECE_BYTES: usize = 6 * FULL_CONTENT_BYTES;
/// More than any cipher suite adds to a record: header, explicit nonce, type and tag.
const RECORD_OVERHEAD_BYTES: usize = 64;

/// A session over a socket that the caller holds. Records are received into memory that many
/// connections share, and encrypted into such memory; only what cannot go on at once is stored
/// here.
pub(super) struct End<S> {
    /// `None` once the peer broke the rules: a session that has failed must not be used again.
    session: Option<Box<S>>,
    /// Bytes received that are no whole record, or part of a message that spans several records.
    leftover: Vec<u8>,
    /// Records that could not be sent yet for lack of room.
    unsent: Vec<u8>,
    /// The peer announced that nothing will follow.
    has_ended: bool,
}

/// Records that were not read yet: those left from before, and behind them those that came now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived {
    /// Bytes of all of them, from the start of the memory on; only those left from before when
    /// nothing came.
    pub(super) bytes: usize,
    /// The peer will send no more.
    pub(super) is_last: bool,
    /// The socket may hold more, which it will not report again.
    pub(super) perhaps_more: bool,
}

/// Makes room for the records of one piece, in records of at most `content_bytes`.
pub(super) fn room_for_piece(content_bytes: usize) -> Vec<u8> {
    // One record more than the piece fills: a message about new keys may go before it.
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

    /// The state that the session agreed on; `None` once the peer broke the rules.
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

    /// Memory held for bytes that wait, bytes.
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

    /// Takes the session, for somebody else to go on with: this end is of no more use then.
    pub(super) fn take_session(&mut self) -> Option<S> {
        self.session.take().map(|session| *session)
    }

    /// Receives records behind those left from before; `None` when nothing was there.
    ///
    /// # Errors
    /// `InvalidData` for a message that does not fit into `incoming`; otherwise those of the
    /// socket.
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

    /// Reads records, writes their content into `room`, and returns how many bytes it has. What the
    /// session answers by itself waits to be sent.
    ///
    /// # Errors
    /// The peer broke the rules; what it is told about that waits to be sent.
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

    /// Encrypts and sends a piece at a time, and returns how many bytes it accepted: less than all
    /// when there is no more room, and then records wait. `more` says that other bytes follow at
    /// once. A piece does not wait for the next one: that would split its records to fill a
    /// segment.
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

    /// Queues something that is no record, for a peer that speaks no TLS.
    pub(super) fn say_in_clear(&mut self, text: &str) {
        self.session = None;
        self.unsent.extend_from_slice(text.as_bytes());
    }
}
