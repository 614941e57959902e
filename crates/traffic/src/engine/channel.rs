//! The layer between a socket and a service: nothing, or TLS.

use std::io;
use std::net::TcpStream;
use std::os::fd::AsFd as _;

use sys::mapped_file::MappedPart;
use sys::socket;

use super::file_part::{FilePart, FileWay};
use super::transfer::Transfer;

/// The least that a connection may send of files before other connections have their turn, bytes.
pub(super) const LEAST_TURN_BYTES: u64 = 256 * 1024;

/// How much of a file is mapped at a time when it is sent from memory, bytes.
const MAPPED_BYTES: usize = 256 * 1024;

/// Carries the bytes of a service over one connection. The kind is chosen at compile time, so that
/// a connection in the clear pays nothing for the existence of another kind.
pub trait Channel: Sized {
    /// What all connections of a worker share.
    type Common;

    /// The most that is sent of files in one turn, bytes: some hundred microseconds, so that a
    /// large file does not keep the other connections of the worker waiting.
    const FILE_TURN_BYTES: u64 = LEAST_TURN_BYTES;

    /// Makes the channel of a connection that was just accepted.
    ///
    /// # Errors
    /// When there is no memory or randomness for it.
    fn new(socket: TcpStream, common: &Self::Common) -> io::Result<Self>;

    fn socket(&self) -> &TcpStream;

    /// Receives what is there, and returns the part of it that is for the service.
    ///
    /// # Errors
    /// When the connection is of no more use.
    fn receive<T: Transfer>(
        &mut self,
        common: &mut Self::Common,
        transfer: &mut T,
        room: &mut [u8],
    ) -> io::Result<Received>;

    /// Accepts bytes to send and returns how many: fewer than all when there is no more room.
    /// `more` says that others follow at once.
    ///
    /// # Errors
    /// When the connection is of no more use.
    fn send<T: Transfer>(
        &mut self,
        common: &mut Self::Common,
        transfer: &mut T,
        bytes: &[u8],
        more: bool,
    ) -> io::Result<usize>;

    /// Accepts at most `most_bytes` of a file, and returns how many.
    ///
    /// # Errors
    /// `UnexpectedEof` when the file has no more; otherwise see [`Self::send`].
    fn send_file<T: Transfer>(
        &mut self,
        common: &mut Self::Common,
        transfer: &mut T,
        part: &FilePart,
        most_bytes: usize,
    ) -> io::Result<usize>;

    /// Receives and discards bytes that nobody wants. Returns whether more may follow.
    fn discard<T: Transfer>(&mut self, transfer: &mut T, room: &mut [u8]) -> bool {
        let received = transfer.receive(self.socket().as_fd(), room);
        matches!(received, Ok(Some(1..) | None))
    }

    /// Whether some accepted bytes are not yet sent.
    fn has_output(&self) -> bool {
        false
    }

    /// Memory that the channel holds besides its own size, bytes.
    fn held_bytes(&self) -> usize {
        0
    }

    /// Whether the peer has sent only a part of a message that the service does not see.
    fn is_mid_message(&self) -> bool {
        false
    }

    /// Whether the peer has announced that nothing follows what was received.
    fn has_ended(&self) -> bool {
        false
    }

    /// Tells the peer, once, that nothing will follow: now, or as part of the output still to be
    /// sent.
    fn say_goodbye<T: Transfer>(&mut self, _common: &mut Self::Common, _transfer: &mut T) {}
}

/// Outcome of an attempt to receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// `count` bytes for the service, perhaps 0. With `perhaps_more` the socket may hold more,
    /// which it will not report again.
    Bytes { count: usize, perhaps_more: bool },
    /// Nothing was there.
    Nothing,
    /// The peer will send no more.
    End,
    /// The peer cannot be understood; the channel's answer to that is still to be sent.
    Refused,
}

/// The socket itself, without another layer.
pub struct Clear {
    socket: TcpStream,
}

impl Channel for Clear {
    type Common = ();

    /// Nothing is copied or encrypted, so more can be sent in the same time. A socket that is kept
    /// full costs less: acknowledgements of its peer send the bytes that wait in it.
    const FILE_TURN_BYTES: u64 = 2 * 1024 * 1024;

    fn new(socket: TcpStream, (): &()) -> io::Result<Self> {
        Ok(Self { socket })
    }

    fn socket(&self) -> &TcpStream {
        &self.socket
    }

    #[inline]
    fn receive<T: Transfer>(
        &mut self,
        (): &mut (),
        transfer: &mut T,
        room: &mut [u8],
    ) -> io::Result<Received> {
        let received = match transfer.receive(self.socket.as_fd(), room)? {
            None => Received::Nothing,
            Some(0) => Received::End,
            // Fewer bytes than there was room for mean that there are no more, and later ones are
            // reported. So no read is made that is expected to find nothing.
            Some(count) => Received::Bytes {
                count,
                perhaps_more: count == room.len(),
            },
        };
        Ok(received)
    }

    #[inline]
    fn send<T: Transfer>(
        &mut self,
        (): &mut (),
        transfer: &mut T,
        bytes: &[u8],
        more: bool,
    ) -> io::Result<usize> {
        transfer.send(self.socket.as_fd(), bytes, more)
    }

    fn send_file<T: Transfer>(
        &mut self,
        (): &mut (),
        _transfer: &mut T,
        part: &FilePart,
        most: usize,
    ) -> io::Result<usize> {
        if part.way != FileWay::Sendfile {
            // Mapping costs time for each page, whether there is room for it in the socket or not.
            let most = most.min(MAPPED_BYTES);
            let mapped = MappedPart::of(part.file.as_fd(), part.offset, most)?;
            return Ok(mapped.send(self.socket.as_fd())?.unwrap_or(0));
        }
        // sendfile(2) needs no copy in this process.
        match socket::send_file(self.socket.as_fd(), part.file.as_fd(), part.offset, most)? {
            None => Ok(0),
            Some(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Some(sent) => Ok(sent),
        }
    }
}
