//! How bytes get from a socket into our memory, and back.

use std::io;
use std::os::fd::BorrowedFd;

use sys::socket;

/// Moves the bytes of a worker's connections. Each engine has its own; the layers above do not know
/// which one they use.
pub trait Transfer {
    /// Whether accepted bytes are in the socket at once, and bytes not yet handed out are still in
    /// the socket: only then can the kernel go on with a connection by itself.
    const IS_AT_ONCE: bool = false;

    /// Receives the bytes that are there; `None` when there are none. `Some(0)` means that the peer
    /// will send no more.
    ///
    /// # Errors
    /// `ECONNRESET` when the peer reset the connection.
    fn receive(&mut self, socket: BorrowedFd<'_>, room: &mut [u8]) -> io::Result<Option<usize>>;

    /// Accepts bytes to send, and returns how many: fewer than all when there is no more room.
    /// `more` says that others follow at once.
    ///
    /// # Errors
    /// `EPIPE` or `ECONNRESET` when the peer is gone.
    fn send(&mut self, socket: BorrowedFd<'_>, bytes: &[u8], more: bool) -> io::Result<usize>;
}

/// Moves bytes by one system call each, at once.
pub struct Calls;

impl Transfer for Calls {
    const IS_AT_ONCE: bool = true;

    #[inline]
    fn receive(&mut self, socket: BorrowedFd<'_>, room: &mut [u8]) -> io::Result<Option<usize>> {
        socket::receive(socket, room)
    }

    #[inline]
    fn send(&mut self, socket: BorrowedFd<'_>, bytes: &[u8], more: bool) -> io::Result<usize> {
        // Fewer than all means that there is no more room; a second attempt would find none.
        let sent = if more {
            socket::send_before_more(socket, bytes)?
        } else {
            socket::send(socket, bytes)?
        };
        Ok(sent.unwrap_or(0))
    }
}
