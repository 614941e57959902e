//! What the kernel holds of a socket until its peer has it.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::net::sockopt::set_socket_send_buffer_size;

/// Has the kernel take no more for a socket than about so many bytes, its own account of them
/// included, instead of as many as its path seems to carry (`SO_SNDBUF`, socket(7)).
///
/// # Errors
/// `EBADF` and the like alone: a size that is too large is cut to `net.core.wmem_max`.
pub fn bound(socket: BorrowedFd<'_>, bytes: usize) -> io::Result<()> {
    // The kernel doubles what it is told, for its account.
    Ok(set_socket_send_buffer_size(socket, bytes / 2)?)
}
