//! Whose terminal it is. A process can put words into the input of its controlling terminal
//! (`TIOCSTI`, `ioctl_tty(2)`), and the shell there runs them as the one who uses it.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};

use crate::{check, opened};

/// Leaves the controlling terminal, if there is one. What is open of it stays open: a command still
/// reads and writes there as its standard files say, and Ctrl-C still reaches its process group.
///
/// Called between fork and exec, so it allocates nothing.
pub(super) fn give_up() -> io::Result<()> {
    match open_own() {
        Ok(terminal) => leave(terminal.as_raw_fd()),
        Err(error) => match error.raw_os_error() {
            // There is none, or it was hung up.
            Some(libc::ENXIO | libc::EIO) => Ok(()),
            // Its name is missing in this root; where it is open it can be left all the same.
            Some(libc::ENOENT) => {
                (0..=2).for_each(|file| drop(leave(file)));
                Ok(())
            }
            _ => Err(error),
        },
    }
}

fn leave(terminal: RawFd) -> io::Result<()> {
    // A session leader that leaves has the kernel hang up on the whole session, itself included.
    // SAFETY: no pointers; a signal that is ignored as it comes is gone.
    let before = unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
    // SAFETY: no pointers.
    let left = check(unsafe { libc::ioctl(terminal, libc::TIOCNOTTY) });
    // SAFETY: what it was before is a valid handler.
    unsafe { libc::signal(libc::SIGHUP, before) };
    left.map(drop)
}

/// The controlling terminal, whichever it is (tty(4)).
fn open_own() -> io::Result<OwnedFd> {
    let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_NONBLOCK | libc::O_CLOEXEC;
    // SAFETY: the path is a string that ends with a zero.
    unsafe { opened(libc::open(c"/dev/tty".as_ptr(), flags)) }
}
