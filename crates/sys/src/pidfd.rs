//! A process by a descriptor: to wait for it along with sockets and signals, and to send it a
//! signal that cannot reach another process.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Child;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::retry_on_intr;
use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::process::number;

/// Opens a descriptor that is readable once the child has ended (`pidfd_open`, Linux 5.3).
///
/// # Errors
/// `EMFILE` at the limit of open files, `ESRCH` when the child was waited for already.
pub fn open(child: &Child) -> io::Result<OwnedFd> {
    open_any(child.id())
}

/// Opens a descriptor of any process. The caller must check afterwards that it is the process that
/// was meant: from then on the descriptor stays that process's own.
///
/// # Errors
/// `ESRCH` when there is none, `EMFILE` at the limit of open files.
pub fn open_any(pid: u32) -> io::Result<OwnedFd> {
    Ok(pidfd_open(number(pid)?, PidfdFlags::empty())?)
}

/// Waits until the process of a descriptor has ended.
///
/// # Errors
/// None are known.
pub fn wait(process: impl AsFd) -> io::Result<()> {
    let mut awaited = [PollFd::new(&process, PollFlags::IN)];
    retry_on_intr(|| poll(&mut awaited, None))?;
    Ok(())
}

/// The signals that can be sent to a process that is not a child of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndSignal {
    /// SIGTERM.
    End,
    /// SIGKILL.
    Kill,
}

/// Sends a signal to the process of a descriptor (`pidfd_send_signal`, Linux 5.1).
///
/// # Errors
/// `ESRCH` when it has ended, `EPERM` when it is somebody else's.
pub fn send(process: impl AsFd, order: EndSignal) -> io::Result<()> {
    let signal = match order {
        EndSignal::End => Signal::TERM,
        EndSignal::Kill => Signal::KILL,
    };
    Ok(pidfd_send_signal(process, signal)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoll::{Epoll, Events, Interest};
    use std::os::unix::process::ExitStatusExt as _;
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

    #[test]
    fn a_signal_goes_to_the_process_of_the_descriptor() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let process = open_any(child.id()).unwrap();
        send(&process, EndSignal::Kill).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
        let gone = send(&process, EndSignal::End).unwrap_err();
        assert_eq!(gone.raw_os_error(), Some(libc::ESRCH));
    }
}
