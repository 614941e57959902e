//! A server under test: started on a free port, killed when the test ends.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::process::{Child, Command, ExitStatus, Stdio};

use super::ENGINE;
use super::client::{Client, PATIENCE};

pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Server {
    /// `linerate serve` on a free port of loopback, on the engine of this test program.
    pub(crate) fn start(flags: &[&str]) -> Self {
        let mut command = Command::new(program());
        command.args(["serve", "--listen", "0", "--engine", ENGINE]);
        command.args(flags);
        Self::spawn(command)
    }

    /// Any command that prints the ready line.
    pub(crate) fn spawn(mut command: Command) -> Self {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        let output = child.stdout.as_mut().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
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

    /// The processes that it has started, in the order of their start.
    pub(crate) fn workers(&self) -> Vec<u32> {
        let pid = self.pid();
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        children
            .split_whitespace()
            .map(|pid| pid.parse().unwrap())
            .collect()
    }

    pub(crate) fn terminate(&self) {
        sys::process::terminate(&self.child).unwrap();
    }

    /// Waits for its end: how it ended and what it said of it.
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

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What `linerate serve` says that must not start with these flags, on the engine of this test program.
pub(crate) fn refusal(flags: &[&str]) -> String {
    let mut command = Command::new("timeout");
    command.args(["20", program(), "serve", "--listen", "0"]);
    if !flags.contains(&"--engine") {
        command.args(["--engine", ENGINE]);
    }
    let output = command.args(flags).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(output.stdout.is_empty(), "{said}");
    said
}

pub(crate) fn program() -> &'static str {
    crate::common::program()
}

/// Open sockets of a process.
pub(crate) fn sockets(pid: u32) -> usize {
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let targets = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
    targets
        .filter(|target| target.to_string_lossy().starts_with("socket:"))
        .count()
}
