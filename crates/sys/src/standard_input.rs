//! Standard input as a way to hand an open descriptor to a child process.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};

use crate::check;

/// Takes over what this process was given as its standard input, and leaves `/dev/null` there,
/// so that closing the descriptor is the end of it.
///
/// # Errors
/// `EMFILE` at the limit of open files.
pub fn take() -> io::Result<OwnedFd> {
    let taken = io::stdin().as_fd().try_clone_to_owned()?;
    let nothing = File::open("/dev/null")?;
    // SAFETY: no pointers; both descriptors are open. Whoever reads standard input from now on
    // reads its end.
    check(unsafe { libc::dup2(nothing.as_raw_fd(), libc::STDIN_FILENO) })?;
    Ok(taken)
}
