//! A descriptor that outlives the program of this process.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};

use crate::check;

/// Leaves it open for what is executed in the place of this process.
pub(crate) fn hand_on(file: &OwnedFd) -> io::Result<()> {
    // SAFETY: no pointers; the descriptor has no other flag than the one that is taken off.
    check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFD, 0) })?;
    Ok(())
}
