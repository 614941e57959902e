//! Standard input as a way to hand an open descriptor to a child process, or to tell it, by closing
//! the input, that something may begin.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use crate::check;

/// Takes over the descriptor that this process was given as its standard input, and leaves
/// `/dev/null` in its place, so that the descriptor is really closed when the result is dropped.
///
/// # Errors
/// `EMFILE` at the limit of open files.
pub fn take() -> io::Result<OwnedFd> {
    let taken = io::stdin().as_fd().try_clone_to_owned()?;
    let nothing = File::open("/dev/null")?;
    // SAFETY: whoever reads standard input from now on reads its end.
    check(unsafe { libc::dup2(nothing.as_raw_fd(), libc::STDIN_FILENO) })?;
    Ok(taken)
}

/// Reads and discards standard input, until its end or until `bell` is readable.
///
/// # Errors
/// `EBADF` where it is closed, and the errors of read(2).
pub fn read_to_end_or(bell: BorrowedFd<'_>) -> io::Result<()> {
    let mut input = io::stdin().lock();
    loop {
        let [rings, _] = readable([bell, input.as_fd()])?;
        if rings || input.read(&mut [0; 512])? == 0 {
            return Ok(());
        }
    }
}

/// Waits until at least one of the descriptors can be read without waiting. Returns for each
/// whether it can.
fn readable<const N: usize>(descriptors: [BorrowedFd<'_>; N]) -> io::Result<[bool; N]> {
    let mut polled = descriptors.map(|one| PollFd::from_borrowed_fd(one, PollFlags::IN));
    loop {
        match poll(&mut polled, None) {
            Err(Errno::INTR) => {}
            outcome => {
                outcome?;
                return Ok(polled.map(|one| !one.revents().is_empty()));
            }
        }
    }
}
