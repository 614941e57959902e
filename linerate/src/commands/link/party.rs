//! A command on a host of the rig: starts it there as an ordinary user, waits for it, and ends it.

use std::io::{self, ErrorKind};
use std::os::fd::AsFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use anyhow::anyhow;
use machine::rig::Host;
use sys::descent::Descent;
use sys::epoll::{Epoll, Events, Interest};
use sys::process::ChildSetup;
use sys::stop::StopSignal;

/// How long a command may take to end after it was asked to.
const PATIENCE: Duration = Duration::from_secs(2);
/// `TCP_LISTEN` as `/proc/net/tcp` writes it.
const LISTENING: &str = "0A";

/// A running command. Dropping it ends it and every other process on its host.
pub(super) struct Party<'a> {
    child: Child,
    host: &'a Host,
}

impl<'a> Party<'a> {
    /// Starts a command, as an ordinary user.
    pub(super) fn start(command: &mut Command, host: &'a Host) -> anyhow::Result<Self> {
        host.put(command)?;
        let setup = ChildSetup {
            descent: descent()?,
            ..ChildSetup::default()
        };
        sys::process::prepare_child(command, setup);
        let program = command.get_program().display().to_string();
        let child = command.spawn();
        let child = child.map_err(|error| not_started(&program, error))?;
        Ok(Self { child, host })
    }

    /// Waits until the command has ended, or ends it when we are asked to stop. Returns its exit
    /// code as shells give it.
    pub(super) fn wait(mut self, stop: &StopSignal) -> anyhow::Result<u8> {
        let ended = sys::pidfd::open(&self.child)?;
        let epoll = Epoll::new()?;
        epoll.add(ended.as_fd(), 0, Interest::READ)?;
        epoll.add(stop.as_fd(), 1, Interest::READ)?;
        let mut events = Events::with_capacity(2);
        while sys::stop::heard().is_none() && !self.is_over() {
            epoll.wait(&mut events, None)?;
        }
        self.end();
        Ok(exit_code(self.child.wait()?))
    }

    pub(super) fn is_over(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Whether anything on its host listens on a TCP port.
    pub(super) fn listens(&self) -> bool {
        let is_listening = |line: &str| line.split_whitespace().nth(3) == Some(LISTENING);
        ["tcp", "tcp6"].iter().any(|list| {
            let list = format!("/proc/{}/net/{list}", self.child.id());
            std::fs::read_to_string(list).is_ok_and(|text| text.lines().any(is_listening))
        })
    }

    /// Ends the command with everything that it has started, even what left its process group.
    fn end(&mut self) {
        // If the processes of the host cannot be found, the command itself can be ended. It may
        // also have moved into a network namespace of its own.
        let _ = self.host.end_all();
        if !self.is_over() {
            let _ = sys::process::terminate(&self.child);
        }
        if !sys::clock::wait_until(PATIENCE, || self.is_over()) {
            let _ = self.child.kill();
        }
    }
}

impl Drop for Party<'_> {
    fn drop(&mut self) {
        self.end();
        let _ = self.child.wait();
    }
}

/// The error of a program that did not start. If a folder of the PATH may not be searched, the
/// kernel reports "permission denied" even for a program that is in none of them.
fn not_started(program: &str, error: io::Error) -> anyhow::Error {
    if error.kind() == ErrorKind::PermissionDenied && !program.contains('/') {
        return anyhow!(
            "{program} could not be started: it is not on the PATH, or may not be run by the ordinary user as whom it \
             runs (folders of root's PATH are closed to that user)"
        );
    }
    anyhow::Error::new(error).context(format!("{program} could not be started"))
}

/// How the command loses root rights. On an ordinary user's rig a child would be root over the rig,
/// so it gives that up too.
fn descent() -> io::Result<Descent> {
    match Descent::from_here()? {
        Descent::Stay => Ok(Descent::IntoNamespace),
        descent => Ok(descent),
    }
}

fn exit_code(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok())
        .unwrap_or(u8::MAX)
}
