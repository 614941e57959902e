//! The data that the kernel buffers for a socket until its peer has it.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::net::sockopt::set_socket_send_buffer_size;

/// Has the kernel buffer no more for a socket than about so many bytes, its own account of them
/// included, instead of as many as its path seems to carry (`SO_SNDBUF`, socket(7)).
///
/// # Errors
/// Only `EBADF` and the like: a size that is too large is cut to `net.core.wmem_max`.
pub fn bound(socket: BorrowedFd<'_>, bytes: usize) -> io::Result<()> {
    // The kernel doubles the size that it is given, for its account.
    Ok(set_socket_send_buffer_size(socket, bytes / 2)?)
}
