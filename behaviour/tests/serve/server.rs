//! A server under test: started on a free port, killed when the test ends.

use std::io::Read as _;
use std::net::SocketAddr;
use std::process::{Command, ExitStatus, Stdio};

use super::ENGINE;
use super::client::{Client, PATIENCE};
use crate::common::processes::{Ours, children, line_of};
use crate::common::refusal_of;

pub(crate) struct Server {
    child: Ours,
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Starts `linerate serve` on a free port of loopback, on the engine [`ENGINE`].
    pub(crate) fn start(flags: &[&str]) -> Self {
        let mut command = Command::new(program());
        command.args(["serve", "--listen", "0", "--engine", ENGINE]);
        command.args(flags);
        Self::spawn(command)
    }

    /// Starts any command that prints the ready line.
    pub(crate) fn spawn(mut command: Command) -> Self {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = Ours(command.spawn().unwrap());
        let line = line_of(child.stdout.as_mut());
        let address = line
            .trim_end()
            .strip_prefix("listening on ")
            .map(str::parse);
        let address = address
            .unwrap_or_else(|| panic!("not ready: {line:?}"))
            .unwrap();
        Self { child, address }
    }

    pub(crate) fn connect(&self) -> Client {
        Client::connect(self.address)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The processes that the server has started, in the order of their start.
    pub(crate) fn workers(&self) -> Vec<u32> {
        children(self.pid())
    }

    pub(crate) fn terminate(&self) {
        sys::process::terminate(&self.child).unwrap();
    }

    /// Waits for the server's end; returns how it ended and what it wrote to standard error.
    pub(crate) fn wait(mut self) -> (ExitStatus, String) {
        let ended = || self.child.try_wait().unwrap().is_some();
        assert!(
            sys::clock::wait_until(PATIENCE, ended),
            "the server does not end"
        );
        let mut said = String::new();
        self.child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        (self.child.wait().unwrap(), said)
    }
}

/// What `linerate serve` says when it must not start with these flags, on the engine [`ENGINE`]
/// unless they name one.
pub(crate) fn refusal(flags: &[&str]) -> String {
    let mut command = Command::new("timeout");
    command.args(["20", program(), "serve", "--listen", "0"]);
    if !flags.contains(&"--engine") {
        command.args(["--engine", ENGINE]);
    }
    refusal_of(command.args(flags))
}

pub(crate) fn program() -> &'static str {
    crate::common::program()
}

/// Number of open sockets of a process.
pub(crate) fn sockets(pid: u32) -> usize {
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let targets = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
    targets
        .filter(|target| target.to_string_lossy().starts_with("socket:"))
        .count()
}
