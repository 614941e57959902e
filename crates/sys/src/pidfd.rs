//! A child process as something to wait for beside sockets and signals.

use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::process::Child;

use crate::check;

/// Opens a descriptor that is readable once the child has ended (`pidfd_open`, Linux 5.3).
///
/// # Errors
/// `EMFILE` at the limit of open files, `ESRCH` when the child was waited for already.
pub fn open(child: &Child) -> io::Result<OwnedFd> {
    let pid = libc::c_long::from(child.id());
    // SAFETY: no pointers. The child was not waited for, or the call fails: `Child` keeps it.
    let returned = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    let fd = check(libc::c_int::try_from(returned).map_err(io::Error::other)?)?;
    // SAFETY: `fd` was just opened and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoll::{Epoll, Events, Interest};
    use std::os::fd::AsFd as _;
    use std::process::{Command, Stdio};

    #[test]
    fn it_is_readable_only_when_the_child_has_ended() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let ended = open(&child).unwrap();
        let epoll = Epoll::new().unwrap();
        epoll.add(ended.as_fd(), 1, Interest::READ).unwrap();
        let mut events = Events::with_capacity(1);
        epoll.wait(&mut events, Some(0)).unwrap();
        assert_eq!(events.iter().count(), 0);
        drop(child.stdin.take());
        epoll.wait(&mut events, Some(10_000_000_000)).unwrap();
        assert_eq!(events.iter().count(), 1);
        child.wait().unwrap();
    }
}
