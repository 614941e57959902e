//! A descriptor that outlives the program of this process, and one that was left to it.

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};

use crate::check;

/// Leaves it open for what is executed in the place of this process.
pub(crate) fn hand_on(file: impl AsFd) -> io::Result<()> {
    // SAFETY: no pointers; the descriptor has no other flag than the one that is taken off.
    check(unsafe { libc::fcntl(file.as_fd().as_raw_fd(), libc::F_SETFD, 0) })?;
    Ok(())
}

/// The first descriptor behind the standard streams.
const FIRST_OWN_FILE: RawFd = 3;

/// Takes over the file without a name, under these seals at least (memfd_create(2)), that whoever started
/// this program has left open under a number. No child of ours inherits it.
///
/// # Errors
/// `EBADF` where nothing is open under it, `InvalidData` for anything else than such a file.
pub(crate) fn take(number: u32, seals: libc::c_int) -> io::Result<OwnedFd> {
    let number = RawFd::try_from(number).map_err(|_| io::ErrorKind::InvalidData)?;
    // SAFETY: no pointers; of what is no file of memory the kernel tells no seals.
    let found = unsafe { libc::fcntl(number, libc::F_GET_SEALS) };
    if number < FIRST_OWN_FILE || found < 0 || found & seals != seals {
        return Err(io::ErrorKind::InvalidData.into());
    }
    adopt(number)
}

/// Takes over what is open under a number. No child of ours inherits it.
///
/// # Errors
/// `EBADF` where nothing is.
pub(crate) fn adopt(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: no pointers; only a flag of the descriptor changes.
    check(unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) })?;
    // SAFETY: it is open, and was before this program began; who told us of it left it to us alone, and the
    // callers ask once for a number.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}
