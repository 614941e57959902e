//! A command that listens for connections until it is stopped.

use std::io::{BufRead as _, BufReader};
use std::process::{ChildStdout, Command, Stdio};

use crate::common::processes::Ours;
use crate::common::program;

/// A command whose first line says where it listens. Dropping it stops it.
pub(crate) struct Listener {
    pub(crate) child: Ours,
    pub(crate) address: String,
    output: BufReader<ChildStdout>,
}

impl Listener {
    /// `linerate stream` on a free port.
    pub(crate) fn start(flags: &[&str]) -> Self {
        Self::at("0", flags)
    }

    pub(crate) fn at(address: &str, flags: &[&str]) -> Self {
        Self::of(
            Command::new(program())
                .args(["stream", "--listen", address])
                .args(flags),
        )
    }

    pub(crate) fn of(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut listener = Self {
            child: Ours(child),
            address: String::new(),
            output,
        };
        let line = listener.line();
        listener.address = line.strip_prefix("listening on ").unwrap().to_owned();
        listener
    }

    /// The next line that the command prints.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    pub(crate) fn port(&self) -> &str {
        self.address.rsplit(':').next().unwrap()
    }
}
