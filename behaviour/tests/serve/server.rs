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

    /// What Python prints of each TCP socket `s` that it has, by these arguments of `print`.
    pub(crate) fn ask_sockets(&self, printed: &str) -> String {
        let pid = [self.pid().to_string()];
        python(
            &format!("{ASK_SOCKETS}            print({printed})\n"),
            &pid,
        )
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

const ASK_SOCKETS: &str = r"
import ctypes, os, socket, struct, sys
pid = int(sys.argv[1])
process = os.pidfd_open(pid)
for fd in os.listdir(f'/proc/{pid}/fd'):
    if os.readlink(f'/proc/{pid}/fd/{fd}').startswith('socket:'):
        s = socket.socket(fileno=ctypes.CDLL(None).syscall(438, process, int(fd), 0))
        if s.family == socket.AF_INET:
";

/// What Python prints for a script; `words` are its arguments.
pub(crate) fn python(script: &str, words: &[String]) -> String {
    let mut command = Command::new("python3");
    let output = command.args(["-c", script]).args(words).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    String::from_utf8(output.stdout).unwrap()
}

/// Open sockets of a process.
pub(crate) fn sockets(pid: u32) -> usize {
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let targets = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
    targets
        .filter(|target| target.to_string_lossy().starts_with("socket:"))
        .count()
}
