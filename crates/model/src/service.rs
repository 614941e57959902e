//! A program under test described as data: how to find, configure, start, await and stop it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::braces::fill;

/// The version of the service file's shape that this program reads.
pub const SERVICE_FORMAT: u32 = 1;

/// The names that may stand in braces in the texts of a service, and what they become.
pub const VARIABLES: [&str; 5] = ["dir", "port", "workers", "cpus", "message"];

/// A program under test: one TOML file.
///
/// In `files`, `start` and `serves`, `{dir}` becomes the service's own folder, `{port}` its
/// loopback port, `{workers}` how many workers it shall have, `{cpus}` the CPUs it is bound to,
/// as a list such as `0-3,8`, and `{message}` what its answers say; `{{word}}` stands for
/// `{word}` itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// Shape of this file; see [`SERVICE_FORMAT`].
    pub format: u32,
    /// Lower-case words joined by hyphens; the name of the file.
    pub name: String,
    /// What readers call it.
    pub title: String,
    pub find: Find,
    /// Path below the service's folder to the text of the file that is written there.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    pub start: Start,
    pub ready: Ready,
    /// Path of a request to the exact body of its answer.
    pub serves: BTreeMap<String, String>,
    pub stop: Stop,
    #[serde(default)]
    pub logs: Logs,
}

/// How the program is found, told from others, and had where it is absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Find {
    /// Names of the program; the first that is there is taken.
    pub programs: Vec<String>,
    /// What makes the program tell its version and end.
    pub version_arguments: Vec<String>,
    /// A piece of what it then says, with `{version}` where the version stands.
    pub version_pattern: String,
    /// `ID` of a distribution (os-release(5)) to the exact line that installs the program.
    pub install: BTreeMap<String, String>,
    /// Where to read how to install it anywhere else.
    pub home: String,
}

/// How it is started: a program and its arguments, without a shell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    pub arguments: Vec<String>,
}

/// When it is ready: as soon as a request is answered with status 200.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ready {
    /// The path that is asked for.
    pub path: String,
    /// How long that may take from the start, ms.
    pub within_ms: u32,
}

/// How it is stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    pub signal: StopSignal,
    /// What is left of it so long after the signal is killed, ms.
    pub grace_ms: u32,
}

/// The signal that asks a service to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StopSignal {
    #[serde(rename = "SIGTERM")]
    Terminate,
    #[serde(rename = "SIGINT")]
    Interrupt,
    #[serde(rename = "SIGQUIT")]
    Quit,
}

/// What it writes beside its answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Logs {
    /// Files below its folder that are shown when it fails; its standard output and error always
    /// are.
    pub files: Vec<String>,
    /// No file of the service grows beyond this, in bytes: a flood of complaints fills no disk.
    pub limit_bytes: u64,
}

impl Default for Logs {
    fn default() -> Self {
        Self {
            files: Vec::new(),
            limit_bytes: 16 << 20,
        }
    }
}

/// A service that was found on a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundService {
    /// The path of its program.
    pub program: String,
    /// What the program calls its version.
    pub version: String,
}

/// The service of a run, as it is saved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceRecord {
    /// The whole description, so that the run can go on where its file is not.
    pub description: Service,
    /// SHA-256 of the file it was read from, in hexadecimal.
    pub sha256: String,
    /// What the program called its version.
    pub version: String,
}

impl Service {
    /// Every text in which variables may stand, with the keys that lead to it.
    pub fn texts(&self) -> impl Iterator<Item = (Vec<String>, &str)> {
        let keyed = |table: &'static str, (key, text)| {
            let (key, text): (&String, &String) = (key, text);
            (vec![table.to_owned(), key.clone()], text.as_str())
        };
        let files = self.files.iter().map(move |file| keyed("files", file));
        let bodies = self.serves.iter().map(move |path| keyed("serves", path));
        let arguments = self.start.arguments.iter().enumerate();
        let arguments = arguments.map(|(index, text)| {
            let keys = ["start", "arguments"].map(str::to_owned);
            let path = keys.into_iter().chain([index.to_string()]).collect();
            (path, text.as_str())
        });
        files.chain(bodies).chain(arguments)
    }

    /// The same with every variable replaced by what `value_of` gives for it; one for which it
    /// gives nothing stays as it stands.
    #[must_use]
    pub fn filled(&self, value_of: impl Fn(&str) -> Option<String>) -> Self {
        let mut filled = self.clone();
        let texts = filled.files.values_mut().chain(filled.serves.values_mut());
        for text in texts.chain(&mut filled.start.arguments) {
            *text = fill(text, &value_of);
        }
        filled
    }
}
