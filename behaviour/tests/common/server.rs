//! Our own server, to be measured.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

/// Our own server on a free port. Dropping it stops it.
pub(crate) struct Server {
    child: std::process::Child,
    pub(crate) address: String,
}

impl Server {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(crate::common::program())
            .args(["serve", "--listen", "127.0.0.1:0", "--workers", "1"])
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line
            .trim()
            .strip_prefix("listening on ")
            .unwrap()
            .to_owned();
        Self { child, address }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
