//! Gives up the controlling terminal. A process can push input into its controlling terminal
//! (`TIOCSTI`, `ioctl_tty(2)`), and the shell there runs it as the user of that terminal.

use std::io;
use std::os::fd::{AsRawFd as _, RawFd};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;

use crate::check;

/// Leaves the controlling terminal, if there is one. Descriptors that are open on it stay open: a
/// command still reads and writes there as its standard files say, and Ctrl-C still reaches its
/// process group.
///
/// Called between fork and exec, so it allocates nothing.
pub(super) fn give_up() -> io::Result<()> {
    // The controlling terminal, whichever it is (tty(4)).
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match open(c"/dev/tty", flags, Mode::empty()) {
        Ok(terminal) => leave(terminal.as_raw_fd()),
        // There is none, or it was hung up.
        Err(Errno::NXIO | Errno::IO) => Ok(()),
        // Its name is missing in this root; through an open descriptor it can be left all the same.
        Err(Errno::NOENT) => {
            (0..=2).for_each(|file| drop(leave(file)));
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

fn leave(terminal: RawFd) -> io::Result<()> {
    // When a session leader leaves, the kernel hangs up on the whole session, the leader included.
    // SAFETY: no pointers; a signal that is ignored on arrival is gone.
    let before = unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
    // SAFETY: no pointers.
    let left = check(unsafe { libc::ioctl(terminal, libc::TIOCNOTTY) });
    // SAFETY: the previous action is a valid handler.
    unsafe { libc::signal(libc::SIGHUP, before) };
    left.map(drop)
}
