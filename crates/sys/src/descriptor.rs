//! Descriptors that outlive the program of this process, and those that were left open for it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};

use rustix::fs::{SealFlags, fcntl_get_seals};
use rustix::io::{FdFlags, fcntl_setfd};

use crate::check;

/// Leaves a descriptor open for the program that is executed in place of this process.
pub(crate) fn hand_on(file: impl AsFd) -> io::Result<()> {
    Ok(fcntl_setfd(file, FdFlags::empty())?)
}

/// The first descriptor after the standard streams.
const FIRST_OWN_FILE: RawFd = 3;

/// Takes over an unnamed file in memory, with at least these seals (memfd_create(2)), that whoever
/// started this program has left open under a number. None of our children inherits it.
///
/// # Errors
/// `EBADF` where nothing is open under it, `InvalidData` for anything else than such a file.
pub(crate) fn take(number: u32, seals: SealFlags) -> io::Result<OwnedFd> {
    let number = RawFd::try_from(number).map_err(|_| io::ErrorKind::InvalidData)?;
    if number < FIRST_OWN_FILE {
        return Err(io::ErrorKind::InvalidData.into());
    }
    // SAFETY: whatever is open under the number, if anything, is only asked for its seals.
    let file = unsafe { BorrowedFd::borrow_raw(number) };
    // The kernel reports no seals of anything but a file in memory.
    match fcntl_get_seals(file) {
        Ok(found) if found.contains(seals) => adopt(number),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Takes over the descriptor of this number. None of our children inherits it.
///
/// # Errors
/// `EBADF` where it is not open.
pub(crate) fn adopt(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: no pointers; only a flag of the descriptor changes.
    check(unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) })?;
    // SAFETY: it is open, and was before this program began; whoever told us its number left it to
    // us alone, and the callers ask only once for a number.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}
