//! Our own server, to be measured.

use std::process::{Command, Stdio};

use crate::common::processes::{Ours, line_of};

/// Our own server on a free port. Dropping it stops it.
pub(crate) struct Server {
    _child: Ours,
    pub(crate) address: String,
}

impl Server {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let child = Command::new(crate::common::program())
            .args(["serve", "--listen", "127.0.0.1:0", "--workers", "1"])
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn();
        let mut child = Ours(child.unwrap());
        let line = line_of(child.stdout.take());
        let address = line
            .trim()
            .strip_prefix("listening on ")
            .unwrap()
            .to_owned();
        Self {
            _child: child,
            address,
        }
    }
}
