//! What lies between a socket and a service: nothing, or TLS.

use std::io;
use std::net::TcpStream;
use std::os::fd::AsFd as _;

use sys::mapped_file::MappedPart;
use sys::socket;

use super::file_part::{FilePart, FileWay};
use super::transfer::Transfer;

/// The least that a connection may send of files before the others have their turn, bytes.
pub(super) const LEAST_TURN_BYTES: u64 = 256 * 1024;

/// Of a file that is sent from memory so much is mapped at a time.
const MAPPED_BYTES: usize = 256 * 1024;

/// Carries what a service takes and gives over one connection. Chosen when the program is built:
/// a connection in the clear pays nothing for there being another kind.
pub trait Channel: Sized {
    /// What all connections of a worker share.
    type Common;

    /// Of files no more leaves at one go, so that a large one does not keep the other connections of
    /// its worker waiting: some hundred microseconds.
    const FILE_TURN_BYTES: u64 = LEAST_TURN_BYTES;

    /// For a connection that was just accepted.
    ///
    /// # Errors
    /// When there is no memory or randomness for it.
    fn new(socket: TcpStream, common: &Self::Common) -> io::Result<Self>;

    fn socket(&self) -> &TcpStream;

    /// Receives what is there and gives the service's part of it.
    ///
    /// # Errors
    /// When the connection is of no more use.
    fn receive<T: Transfer>(
        &mut self,
        common: &mut Self::Common,
        transfer: &mut T,
        room: &mut [u8],
    ) -> io::Result<Received>;

    /// Takes bytes to send, and tells how many: less than all when there is no more room. `more`
    /// says that others follow at once.
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

    /// Takes at most so many bytes of a file, and tells how many.
    ///
    /// # Errors
    /// `UnexpectedEof` when the file has no more; else as of [`Self::send`].
    fn send_file<T: Transfer>(
        &mut self,
        common: &mut Self::Common,
        transfer: &mut T,
        part: &FilePart,
        most_bytes: usize,
    ) -> io::Result<usize>;

    /// Receives what nobody wants; whether more may follow.
    fn discard<T: Transfer>(&mut self, transfer: &mut T, room: &mut [u8]) -> bool {
        let received = transfer.receive(self.socket().as_fd(), room);
        matches!(received, Ok(Some(1..) | None))
    }

    /// Whether something that was taken is not yet sent.
    fn has_output(&self) -> bool {
        false
    }

    /// What it keeps in memory beside what it itself takes, bytes.
    fn held_bytes(&self) -> usize {
        0
    }

    /// Whether the peer owes the rest of something that the service does not see.
    fn is_mid_message(&self) -> bool {
        false
    }

    /// Whether the peer has said that nothing follows what was received.
    fn has_ended(&self) -> bool {
        false
    }

    /// Tells the peer that nothing will follow, once: now, or as what is still to be sent.
    fn say_goodbye<T: Transfer>(&mut self, _common: &mut Self::Common, _transfer: &mut T) {}
}

/// What came of an attempt to receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// So many bytes for the service, perhaps none. `perhaps_more` says that the socket may hold
    /// more of which it will not tell again.
    Bytes { count: usize, perhaps_more: bool },
    /// Nothing was there.
    Nothing,
    /// The peer will send no more.
    End,
    /// The peer cannot be understood; what the channel has to say of it is still to be sent.
    Refused,
}

/// The socket as it is.
pub struct Clear {
    socket: TcpStream,
}

impl Channel for Clear {
    type Common = ();

    /// Nothing is copied or encrypted, so more leaves in the same time. A socket that is kept full
    /// costs less: its peer's acknowledgements send what waits in it.
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
            // Less than there was room for means that there is no more, and what comes later is
            // told of: no read is made that is expected to find nothing.
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
            // A mapping takes time with each page, whether there is room for it in the socket or not.
            let most = most.min(MAPPED_BYTES);
            let mapped = MappedPart::of(part.file.as_fd(), part.offset, most)?;
            return Ok(mapped.send(self.socket.as_fd())?.unwrap_or(0));
        }
        // Which needs no copy in this process.
        match socket::send_file(self.socket.as_fd(), part.file.as_fd(), part.offset, most)? {
            None => Ok(0),
            Some(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Some(sent) => Ok(sent),
        }
    }
}
