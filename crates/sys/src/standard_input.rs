//! Standard input as a way to hand an open descriptor to a child process, or to say by its end that
//! something may begin.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use crate::check;

/// Takes over what this process was given as its standard input, and leaves `/dev/null` there,
/// so that closing the descriptor is the end of it.
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

/// Reads standard input and forgets what it reads, until its end or until `bell` is readable.
///
/// # Errors
/// `EBADF` where it is closed, and what read(2) tells.
pub fn read_to_end_or(bell: BorrowedFd<'_>) -> io::Result<()> {
    let mut input = io::stdin().lock();
    loop {
        let [rings, _] = readable([bell, input.as_fd()])?;
        if rings || input.read(&mut [0; 512])? == 0 {
            return Ok(());
        }
    }
}

/// Waits until a read of one of them would not wait.
fn readable<const N: usize>(descriptors: [BorrowedFd<'_>; N]) -> io::Result<[bool; N]> {
    let mut polled = descriptors.map(|one| PollFd::from_borrowed_fd(one, PollFlags::IN));
    loop {
        match poll(&mut polled, None) {
            Err(Errno::INTR) => {}
            told => {
                told?;
                return Ok(polled.map(|one| !one.revents().is_empty()));
            }
        }
    }
}
