//! A command on a host of the rig: started there as an ordinary user, awaited, ended.

use std::os::fd::AsFd as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use anyhow::Context as _;
use machine::rig::Host;
use sys::descent::Descent;
use sys::epoll::{Epoll, Events, Interest};
use sys::process::ChildSetup;
use sys::stop::StopSignal;

/// How long a command may take to end after it was asked to.
const PATIENCE: Duration = Duration::from_secs(5);
/// `TCP_LISTEN` as `/proc/net/tcp` writes it.
const LISTENING: &str = "0A";

/// A command that runs. Dropping it ends it, with all its children where it was started apart.
pub(super) struct Party {
    child: Child,
    apart: bool,
}

impl Party {
    /// Starts a command that shares our terminal.
    pub(super) fn start(command: &mut Command, host: &Host) -> anyhow::Result<Self> {
        Self::spawn(command, host, false)
    }

    /// Starts one out of reach of the terminal's Ctrl-C: it ends when we say so.
    pub(super) fn start_apart(command: &mut Command, host: &Host) -> anyhow::Result<Self> {
        Self::spawn(command.process_group(0), host, true)
    }

    fn spawn(command: &mut Command, host: &Host, apart: bool) -> anyhow::Result<Self> {
        host.put(command)?;
        let setup = ChildSetup {
            descent: descent()?,
            ..ChildSetup::default()
        };
        sys::process::prepare_child(command, setup);
        let program = command.get_program().display().to_string();
        let child = command.spawn();
        let child = child.with_context(|| format!("{program} could not be started"))?;
        Ok(Self { child, apart })
    }

    /// Waits until it has ended, or was ended because we were asked to stop. Its exit code, as
    /// shells give it.
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

    fn end(&mut self) {
        if self.is_over() {
            return;
        }
        let _ = if self.apart {
            sys::launch::signal_group(self.child.id(), sys::launch::SIGTERM)
        } else {
            sys::process::terminate(&self.child)
        };
        if !sys::clock::wait_until(PATIENCE, || self.is_over()) {
            let _ = self.child.kill();
        }
    }
}

impl Drop for Party {
    fn drop(&mut self) {
        self.end();
        let _ = self.child.wait();
        if self.apart {
            let _ = sys::process::kill_group(&self.child);
        }
    }
}

/// On an ordinary user's rig a child is root over it, and so comes down too.
fn descent() -> std::io::Result<Descent> {
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
