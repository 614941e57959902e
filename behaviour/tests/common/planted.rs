//! Servers with a limiter in them, and what `linerate explain` says of them.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::common::processes::{Ours, line_of};
use crate::common::{Folder, answer, linerate};

const PLANTED: &str = include_str!("planted.py");

/// A server with a limiter in it.
pub(crate) struct Planted {
    pub(crate) child: Ours,
    pub(crate) url: String,
}

impl Planted {
    pub(crate) fn new(limiter: &str) -> Self {
        Self::with(limiter, &[])
    }

    /// Starts a server with the arguments that its limiter takes.
    pub(crate) fn with(limiter: &str, arguments: &[&str]) -> Self {
        Self::of(Command::new("python3"), limiter, arguments)
    }

    /// Starts a server that is pinned to a CPU.
    pub(crate) fn on(cpu: usize, limiter: &str) -> Self {
        let mut held = Command::new("taskset");
        held.args(["-c", &cpu.to_string(), "python3"]);
        Self::of(held, limiter, &[])
    }

    fn of(mut python: Command, limiter: &str, arguments: &[&str]) -> Self {
        let child = python
            .args(["-c", PLANTED, limiter])
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn();
        let mut child = Ours(child.unwrap());
        let port = line_of(child.stdout.take());
        Self {
            child,
            url: format!("http://127.0.0.1:{}/", port.trim()),
        }
    }
}

/// Flags for a short look on a machine that runs other tests as well.
pub(crate) const SHORT: [&str; 5] = ["--yes", "--for", "2s", "-c", "8"];

pub(crate) fn explained(folder: &Folder, whose: &[&str]) -> Value {
    let words = [&["explain"], whose, &SHORT, &["--json"]].concat();
    serde_json::from_str(&answer(&mut linerate(folder, &words))).unwrap()
}

/// The share that a limiter was given; 0 where it was not named.
pub(crate) fn share(explained: &Value, name: &str) -> f64 {
    let explanation = &explained["explanation"];
    let further = explanation["further"].as_array().unwrap();
    let mut all = std::iter::once(&explanation["limiter"]).chain(further);
    let found = all.find(|limiter| limiter["name"] == name);
    found.map_or(0.0, |limiter| limiter["share"].as_f64().unwrap())
}
