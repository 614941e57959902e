//! A child that leads a process group. Its number is the group's as well, and both are reserved
//! only until the child is waited for. So the group is killed before that, and no signal is sent
//! after it.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus};

use crate::launch;
use crate::offspring;
use crate::process::{self, Signal};

/// A child of ours that leads a group of its own.
#[derive(Debug)]
pub struct Leader {
    child: Child,
    /// How the leader ended, once it was waited for; from then on its number may be another's.
    ended: Option<ExitStatus>,
}

impl Leader {
    /// Starts a command in a group of its own.
    ///
    /// # Errors
    /// Those of [`Command::spawn`].
    pub fn start(command: &mut Command) -> io::Result<Self> {
        Ok(Self {
            child: command.process_group(0).spawn()?,
            ended: None,
        })
    }

    /// The leader's process number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The leader's output, where that goes through pipes. Each is returned only once.
    pub fn pipes(&mut self) -> (Option<ChildStdout>, Option<ChildStderr>) {
        (self.child.stdout.take(), self.child.stderr.take())
    }

    /// Returns how the leader ended, `None` while it runs. What it left in its group is killed.
    ///
    /// # Errors
    /// `ECHILD` when somebody else has waited for it.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.ended.is_none() && !offspring::child_has_ended(self.id())? {
            return Ok(None);
        }
        self.end().map(Some)
    }

    /// Asks the leader to end, by a signal.
    ///
    /// # Errors
    /// `ESRCH` when it has ended.
    pub fn ask_to_end(&self, signal: Signal) -> io::Result<()> {
        match self.ended {
            None => process::ask_to_end(&self.child, signal),
            Some(_) => Err(io::Error::from_raw_os_error(libc::ESRCH)),
        }
    }

    /// Kills the group, and waits for the leader.
    ///
    /// # Errors
    /// `ECHILD` when somebody else has waited for it.
    pub fn end(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.ended {
            return Ok(status);
        }
        // It does not matter if nobody is left in it.
        let _ = launch::signal_group(self.id(), launch::SIGKILL);
        let status = self.child.wait()?;
        self.ended = Some(status);
        Ok(status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoll::{Epoll, Events, Interest};
    use std::os::fd::AsFd as _;
    use std::process::Stdio;
    use std::time::Duration;

    const LONGEST: Duration = Duration::from_secs(30);

    #[test]
    fn what_a_leader_that_has_ended_left_in_its_group_is_killed() {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "sleep 600 & exit 3"]);
        let mut leader = Leader::start(shell.stdout(Stdio::piped())).unwrap();
        let output = leader.pipes().0.unwrap();
        let mut status = None;
        crate::clock::wait_until(LONGEST, || {
            status = leader.try_wait().unwrap();
            status.is_some()
        });
        assert_eq!(status.unwrap().code(), Some(3));
        // The pipe is open for as long as anybody is left who could write.
        let epoll = Epoll::new().unwrap();
        epoll.add(output.as_fd(), 0, Interest::READ).unwrap();
        let mut events = Events::with_capacity(1);
        epoll.wait(&mut events, Some(30_000_000_000)).unwrap();
        assert!(events.iter().any(|event| event.hung_up));
    }

    #[test]
    fn after_it_was_waited_for_nothing_is_sent_to_its_number() {
        let child = Command::new("sleep").arg("600").process_group(0).spawn();
        // As if the number were another's by now.
        let mut leader = Leader {
            child: child.unwrap(),
            ended: Some(ExitStatus::default()),
        };
        let asked = leader.ask_to_end(Signal::Terminate).unwrap_err();
        assert_eq!(asked.raw_os_error(), Some(libc::ESRCH));
        assert!(leader.try_wait().unwrap().is_some() && leader.end().is_ok());
        leader.ended = None;
        assert_eq!(leader.try_wait().unwrap(), None, "it was hit");
        leader.end().unwrap();
    }
}
