//! A descriptor that outlives the program of this process, and one that was left to it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};

use rustix::fs::{SealFlags, fcntl_get_seals};
use rustix::io::{FdFlags, fcntl_setfd};

use crate::check;

/// Leaves it open for what is executed in the place of this process.
pub(crate) fn hand_on(file: impl AsFd) -> io::Result<()> {
    Ok(fcntl_setfd(file, FdFlags::empty())?)
}

/// The first descriptor behind the standard streams.
const FIRST_OWN_FILE: RawFd = 3;

/// Takes over the file without a name, under these seals at least (memfd_create(2)), that whoever started
/// this program has left open under a number. No child of ours inherits it.
///
/// # Errors
/// `EBADF` where nothing is open under it, `InvalidData` for anything else than such a file.
pub(crate) fn take(number: u32, seals: SealFlags) -> io::Result<OwnedFd> {
    let number = RawFd::try_from(number).map_err(|_| io::ErrorKind::InvalidData)?;
    if number < FIRST_OWN_FILE {
        return Err(io::ErrorKind::InvalidData.into());
    }
    // SAFETY: whatever is open under the number, or is not, is asked for its seals alone.
    let file = unsafe { BorrowedFd::borrow_raw(number) };
    // Of what is no file of memory the kernel tells none.
    match fcntl_get_seals(file) {
        Ok(found) if found.contains(seals) => adopt(number),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
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
