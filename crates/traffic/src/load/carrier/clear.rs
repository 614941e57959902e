//! The layer in the clear: bytes as they are.

use std::io;
use std::os::fd::BorrowedFd;

use sys::socket;

use super::layer::{Layer, Opening};
use super::{CONNECT_PATIENCE_NS, ReceivedPiece};
use crate::tls::Client;

/// Size of the receive buffer. A longer answer is received in several pieces, which are never
/// stored.
const BUFFER_BYTES: usize = 128 * 1024;

/// A connection in the clear.
#[derive(Default)]
pub(in crate::load) struct Clear {
    /// Bytes of the request that the socket has accepted.
    taken: usize,
}

/// Buffer for a piece of an answer.
pub(in crate::load) struct ClearCommon {
    buffer: Box<[u8]>,
}

impl Layer for Clear {
    type Common = ClearCommon;
    const PATIENCE_NS: u64 = CONNECT_PATIENCE_NS;

    fn common(_: Option<&Client>) -> io::Result<ClearCommon> {
        Ok(ClearCommon {
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
        })
    }

    fn open(&mut self, _: &mut ClearCommon, _: BorrowedFd<'_>) -> io::Result<Opening> {
        Ok(Opening::Done)
    }

    #[inline]
    fn send(
        &mut self,
        _: &mut ClearCommon,
        socket: BorrowedFd<'_>,
        request: &[u8],
        is_new: bool,
    ) -> io::Result<bool> {
        self.taken = if is_new { 0 } else { self.taken };
        let rest = &request[self.taken..];
        let count = socket::send(socket, rest)?.unwrap_or(0);
        self.taken += count;
        Ok(count == rest.len())
    }

    fn pass(
        &mut self,
        _: &mut ClearCommon,
        socket: BorrowedFd<'_>,
        bytes: &[u8],
    ) -> io::Result<usize> {
        Ok(socket::send(socket, bytes)?.unwrap_or(0))
    }

    /// Receives a piece. One that is shorter than the buffer has emptied the socket, so no read is
    /// made that would find nothing; only the end of a connection needs one more.
    #[inline]
    fn receive<'c>(
        &mut self,
        common: &'c mut ClearCommon,
        socket: BorrowedFd<'_>,
    ) -> io::Result<Option<ReceivedPiece<'c>>> {
        let received = socket::receive(socket, &mut common.buffer)?;
        Ok(received.map(|count| ReceivedPiece {
            input: &common.buffer[..count],
            may_go_on: count == common.buffer.len(),
        }))
    }
}
