//! The layer of TLS: records, and the handshakes before them.

use std::io;
use std::os::fd::BorrowedFd;

use sys::clock;

use super::ReceivedPiece;
use super::layer::{Layer, Opening};
use crate::load::outcome::Handshakes;
use crate::tls::{Buffers, Client, ClientEnd, Handshake};

/// The longest time that a connection may take to open: each needs a signature, of which a slow CPU
/// makes some hundreds a second.
const SECURED_PATIENCE_NS: u64 = 10_000_000_000;

/// A connection under TLS.
#[derive(Default)]
pub(in crate::load) struct Secured {
    /// `None` until the socket is connected.
    end: Option<ClientEnd>,
    begun_ns: u64,
    /// Bytes of the request that were encrypted.
    taken: usize,
}

/// The peer of the requests, and memory to encrypt and decrypt in.
pub(in crate::load) struct SecuredCommon {
    client: Client,
    buffers: Buffers,
    handshakes: Handshakes,
}

impl Layer for Secured {
    type Common = SecuredCommon;
    const PATIENCE_NS: u64 = SECURED_PATIENCE_NS;

    fn common(tls: Option<&Client>) -> io::Result<SecuredCommon> {
        Ok(SecuredCommon {
            client: tls.cloned().ok_or(io::ErrorKind::InvalidInput)?,
            buffers: Buffers::default(),
            handshakes: Handshakes::default(),
        })
    }

    fn open(&mut self, common: &mut SecuredCommon, socket: BorrowedFd<'_>) -> io::Result<Opening> {
        if self.end.is_none() {
            self.begun_ns = clock::monotonic_ns();
            self.end = Some(ClientEnd::new(&common.client)?);
        }
        let end = self.end.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        Ok(match end.shake_hands(&mut common.buffers, socket)? {
            Handshake::NeedsInput => Opening::NeedsInput,
            Handshake::NeedsRoom => Opening::NeedsRoom,
            Handshake::Done => {
                let took_ns = clock::monotonic_ns() - self.begun_ns;
                common.handshakes.times.record(took_ns);
                common.handshakes.resumed += u64::from(end.is_resumed());
                Opening::Done
            }
        })
    }

    #[inline]
    fn send(
        &mut self,
        common: &mut SecuredCommon,
        socket: BorrowedFd<'_>,
        request: &[u8],
        is_new: bool,
    ) -> io::Result<bool> {
        let end = self.end.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        self.taken = if is_new { 0 } else { self.taken };
        let rest = &request[self.taken..];
        self.taken += end.send(&mut common.buffers, socket, rest)?;
        Ok(self.taken == request.len() && !end.has_output())
    }

    fn pass(
        &mut self,
        common: &mut SecuredCommon,
        socket: BorrowedFd<'_>,
        bytes: &[u8],
    ) -> io::Result<usize> {
        let end = self.end.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        end.send(&mut common.buffers, socket, bytes)
    }

    fn has_output(&self) -> bool {
        self.end.as_ref().is_some_and(ClientEnd::has_output)
    }

    fn early(&mut self) -> Vec<u8> {
        self.end
            .as_mut()
            .map_or_else(Vec::new, ClientEnd::take_early)
    }

    #[inline]
    fn receive<'c>(
        &mut self,
        common: &'c mut SecuredCommon,
        socket: BorrowedFd<'_>,
    ) -> io::Result<Option<ReceivedPiece<'c>>> {
        let end = self.end.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        let content = end.receive_at_edge(&mut common.buffers, socket)?;
        Ok(content.map(|content| ReceivedPiece {
            input: content.bytes,
            may_go_on: content.perhaps_more,
        }))
    }

    /// Processes input outside answers: tickets come after the handshake, and new keys at any time.
    fn absorb(&mut self, common: &mut SecuredCommon, socket: BorrowedFd<'_>) -> bool {
        matches!(self.receive(common, socket), Ok(None))
    }

    fn handshakes(common: &SecuredCommon) -> Option<&Handshakes> {
        Some(&common.handshakes)
    }
}
