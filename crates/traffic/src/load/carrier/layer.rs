//! The layer between the load and an epoll-driven socket: nothing, or TLS.

use std::io;
use std::os::fd::BorrowedFd;

use super::ReceivedPiece;
use crate::load::outcome::Handshakes;
use crate::tls::Client;

/// The state of one connection in this layer. The kind is chosen at compile time, so that a
/// connection in the clear pays nothing for the existence of another kind. The default is the state
/// before the socket is open.
pub(in crate::load) trait Layer: Default {
    /// What all connections of a carrier share.
    type Common;
    /// The longest time that a connection may take to open.
    const PATIENCE_NS: u64;

    /// Makes what is shared; `tls` is the peer for TLS, where TLS is used.
    fn common(tls: Option<&Client>) -> io::Result<Self::Common>;

    /// Goes on with the steps that come before the first request.
    fn open(&mut self, common: &mut Self::Common, socket: BorrowedFd<'_>) -> io::Result<Opening>;

    /// Sends the request, or the rest of it unless it `is_new`. Returns true when all of it has
    /// left.
    fn send(
        &mut self,
        common: &mut Self::Common,
        socket: BorrowedFd<'_>,
        request: &[u8],
        is_new: bool,
    ) -> io::Result<bool>;

    /// Sends arbitrary bytes instead of a request, and returns how many it accepted. With an empty
    /// slice it sends what it accepted before.
    fn pass(
        &mut self,
        common: &mut Self::Common,
        socket: BorrowedFd<'_>,
        bytes: &[u8],
    ) -> io::Result<usize>;

    /// Whether some accepted bytes are not yet sent.
    fn has_output(&self) -> bool {
        false
    }

    /// Returns, once, the bytes that the peer sent before it was asked anything.
    fn early(&mut self) -> Vec<u8> {
        Vec::new()
    }

    /// Receives a piece of an answer; `None` when there is none.
    fn receive<'c>(
        &mut self,
        common: &'c mut Self::Common,
        socket: BorrowedFd<'_>,
    ) -> io::Result<Option<ReceivedPiece<'c>>>;

    /// Whether the received bytes were for the layer only.
    fn absorb(&mut self, _common: &mut Self::Common, _socket: BorrowedFd<'_>) -> bool {
        false
    }

    /// The handshakes so far, where the layer has any.
    fn handshakes(_common: &Self::Common) -> Option<&Handshakes> {
        None
    }
}

/// How near a connection is to its first request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::load) enum Opening {
    Done,
    NeedsInput,
    NeedsRoom,
}
