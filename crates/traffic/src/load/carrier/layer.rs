//! What lies between the load and a socket that is told of readiness: nothing, or TLS.

use std::io;
use std::os::fd::BorrowedFd;

use super::ReceivedPiece;
use crate::load::outcome::Handshakes;
use crate::tls::Client;

/// One connection's part of it. Chosen when the program is built: a connection in the clear pays
/// nothing for there being another kind. The default is that of a socket that is not yet open.
pub(in crate::load) trait Layer: Default {
    /// What all connections of a carrier share.
    type Common;
    /// The longest that a connection may take to open.
    const PATIENCE_NS: u64;

    /// Makes what is shared; `tls` is with whom TLS is spoken, where it is.
    fn common(tls: Option<&Client>) -> io::Result<Self::Common>;

    /// Goes on with what is to be done before the first request.
    fn open(&mut self, common: &mut Self::Common, socket: BorrowedFd<'_>) -> io::Result<Opening>;

    /// Sends the request, or the rest of it unless it `is_new`; true when all of it has left.
    fn send(
        &mut self,
        common: &mut Self::Common,
        socket: BorrowedFd<'_>,
        request: &[u8],
        is_new: bool,
    ) -> io::Result<bool>;

    /// Sends bytes that are no request of ours, and tells how many it took; with none, what it took
    /// before.
    fn pass(
        &mut self,
        common: &mut Self::Common,
        socket: BorrowedFd<'_>,
        bytes: &[u8],
    ) -> io::Result<usize>;

    /// Whether something that was taken is not yet sent.
    fn has_output(&self) -> bool {
        false
    }

    /// What the peer said before it was asked anything, once.
    fn early(&mut self) -> Vec<u8> {
        Vec::new()
    }

    /// Receives a piece of an answer; `None` when nothing of one is there.
    fn receive<'c>(
        &mut self,
        common: &'c mut Self::Common,
        socket: BorrowedFd<'_>,
    ) -> io::Result<Option<ReceivedPiece<'c>>>;

    /// Whether what came was for the layer alone.
    fn absorb(&mut self, _common: &mut Self::Common, _socket: BorrowedFd<'_>) -> bool {
        false
    }

    /// The handshakes so far, where there are any.
    fn handshakes(_common: &Self::Common) -> Option<&Handshakes> {
        None
    }
}

/// How far a connection is to its first request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::load) enum Opening {
    Done,
    NeedsInput,
    NeedsRoom,
}
