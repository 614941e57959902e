//! A server under attack, and its processes.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

use crate::common::Folder;
use crate::common::processes::{Ours, children, signal};

/// No test waits longer than this for one thing; passing takes far less.
pub(crate) const PATIENCE: Duration = Duration::from_secs(40);

pub(crate) struct Running {
    child: Ours,
    output: BufReader<ChildStdout>,
    pub(crate) ready: String,
}

impl Running {
    /// `linerate serve` with these flags, at any port unless they say where.
    pub(crate) fn start(folder: &Folder, flags: &[&str]) -> Self {
        let mut command = serve(folder);
        if !flags.contains(&"--listen") {
            command.args(["--listen", "0"]);
        }
        command.args(flags);
        Self::spawn(command)
    }

    pub(crate) fn spawn(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = Ours(command.spawn().unwrap());
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut ready = String::new();
        output.read_line(&mut ready).unwrap();
        let mut running = Self {
            child,
            output,
            ready,
        };
        match running.ready.as_str() {
            "" => panic!("not ready: {}", running.errors()),
            _ => running,
        }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let ready = self.ready.trim_end();
        let address = match serde_json::from_str::<serde_json::Value>(ready) {
            Ok(ready) => ready["listening"].as_str().unwrap().to_owned(),
            Err(_) => ready.strip_prefix("listening on ").unwrap().to_owned(),
        };
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// The whole answer to a request on a connection of its own.
    pub(crate) fn get(&self, path: &str) -> String {
        let mut stream = self.connect();
        let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The processes that take connections: its children, or itself where it has none.
    pub(crate) fn workers(&self) -> Vec<u32> {
        let pid = self.pid();
        let workers = children(pid);
        match workers.is_empty() {
            true => vec![pid],
            false => workers,
        }
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(name, self.pid());
    }

    /// Its next line on standard output.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    /// Its next line, as JSON.
    pub(crate) fn record(&mut self) -> serde_json::Value {
        serde_json::from_str(&self.line()).unwrap()
    }

    /// Its state as JSON, asked for by SIGUSR1.
    pub(crate) fn asked(&mut self) -> serde_json::Value {
        self.signal("USR1");
        self.record()
    }

    fn errors(&mut self) -> String {
        let mut said = String::new();
        let mut errors = self.child.stderr.take().unwrap();
        errors.read_to_string(&mut said).unwrap();
        said
    }

    /// Waits for its end. Returns its exit status and what it wrote to standard error.
    pub(crate) fn wait(mut self) -> (ExitStatus, String) {
        let is_ended = wait_until(|| self.child.try_wait().unwrap().is_some());
        assert!(is_ended, "the server does not end");
        let said = self.errors();
        (self.child.wait().unwrap(), said)
    }

    /// Stops it by SIGTERM, and asserts that it ends in good order. Returns its standard error.
    pub(crate) fn stop(self) -> String {
        self.signal("TERM");
        let (status, said) = self.wait();
        assert!(status.success(), "{said}");
        said
    }
}

/// The command, in a folder, without its flags.
pub(crate) fn serve(folder: &Folder) -> Command {
    crate::common::linerate(folder, &["serve"])
}

pub(crate) fn wait_until(holds: impl FnMut() -> bool) -> bool {
    sys::clock::wait_until(PATIENCE, holds)
}

/// What a line of `/proc/PID/status` says.
pub(crate) fn status(pid: u32, field: &str) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let mut lines = status.lines();
    let line = lines.find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("no {field} in {status}"))
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

pub(crate) fn resident_bytes(pid: u32) -> u64 {
    let kib = status(pid, "VmRSS");
    kib.trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}
