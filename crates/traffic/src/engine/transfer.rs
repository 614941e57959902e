//! How bytes get from a socket into our memory, and back.

use std::io;
use std::os::fd::BorrowedFd;

use sys::socket;

/// Moves the bytes of a worker's connections. Each engine has its own, and what lies above does
/// not know which.
pub trait Transfer {
    /// Whether what it has taken was given to the socket, and what it did not yet hand out is still
    /// there: only then can the kernel go on with a connection by itself.
    const IS_AT_ONCE: bool = false;

    /// Receives what is there; `None` when nothing is. `Some(0)` means that the peer will send no
    /// more.
    ///
    /// # Errors
    /// `ECONNRESET` when the peer reset the connection.
    fn receive(&mut self, socket: BorrowedFd<'_>, room: &mut [u8]) -> io::Result<Option<usize>>;

    /// Takes bytes to send, and tells how many: less than all when there is no more room. `more`
    /// says that others follow at once.
    ///
    /// # Errors
    /// `EPIPE` or `ECONNRESET` when the peer is gone.
    fn send(&mut self, socket: BorrowedFd<'_>, bytes: &[u8], more: bool) -> io::Result<usize>;
}

/// By a system call for each, at once.
pub struct Calls;

impl Transfer for Calls {
    const IS_AT_ONCE: bool = true;

    #[inline]
    fn receive(&mut self, socket: BorrowedFd<'_>, room: &mut [u8]) -> io::Result<Option<usize>> {
        socket::receive(socket, room)
    }

    #[inline]
    fn send(&mut self, socket: BorrowedFd<'_>, bytes: &[u8], more: bool) -> io::Result<usize> {
        // Less than all means that there is no more room; a second attempt would find none.
        let sent = if more {
            socket::send_before_more(socket, bytes)?
        } else {
            socket::send(socket, bytes)?
        };
        Ok(sent.unwrap_or(0))
    }
}
