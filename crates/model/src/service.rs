//! A program under test described as data: how to find, configure, start, await and stop it.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::braces::{fill, words_in_braces};
use crate::expected::Expected;

/// The version of the service file's format that this program reads.
pub const SERVICE_FORMAT: u32 = 1;

/// The names that may stand in braces in the texts of a service, and are replaced by values.
pub const VARIABLES: [&str; 14] = [
    "address",
    "cache",
    "certificate",
    "cpus",
    "dir",
    "key",
    "listen",
    "message",
    PASSWORD,
    PASSWORD_FILE,
    "port",
    "root",
    "scheme",
    "workers",
];

/// A password that is made again at each start. Its value may stand only where nobody else can read
/// it.
pub const PASSWORD: &str = "password";
/// The file in the service's folder that holds the password.
pub const PASSWORD_FILE: &str = "password_file";

/// The variables that tell a service the address to listen on; a service with neither knows of
/// loopback alone.
const ADDRESS_VARIABLES: [&str; 2] = ["address", "listen"];

/// A program under test: one TOML file.
///
/// Variables are replaced in all texts but those of `find` and those that say what answers are
/// like: `{dir}` is the service's own folder, which is deleted with it; `{cache}` is a folder that
/// is kept from one start to the next; `{address}` is the IP address to listen on, `{port}` the
/// port, and `{listen}` both as URLs have them (`127.0.0.1:8080`, `[::1]:8080`); `{workers}` is the
/// number of workers to run; `{cpus}` lists the CPUs that the service is bound to, such as `0-3,8`;
/// `{message}` is what its answers say. `{root}` is the folder whose files the service serves below
/// `/files/`; it does not exist where nobody asks for files. `{scheme}` is `http`, or `https` where
/// the service shall speak TLS with the certificates in the file `{certificate}` and the key in
/// `{key}`. `{password}` is a password of 32 hexadecimal digits, made again at each start and also
/// found in the file `{password_file}`. `{{word}}` stands for `{word}` itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// Format of this file; see [`SERVICE_FORMAT`].
    pub format: u32,
    /// Lower-case words joined by hyphens; the name of the file.
    pub name: String,
    /// Name for readers.
    pub title: String,
    /// Protocol on its port.
    pub protocol: Protocol,
    /// How the program is found and recognised.
    pub find: Find,
    /// Environment variables of its commands, besides `PATH`, `HOME` and `TMPDIR`.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Files to write: path below the service's folder, to the text of the file.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Commands that are run to completion before the start, in order.
    #[serde(default)]
    pub prepare: Vec<Prepare>,
    /// How the service is started.
    pub start: Start,
    /// Path of the Unix socket that it listens on; null for none.
    #[serde(default)]
    pub socket: Option<String>,
    /// A shell command that talks to the service, for a reader.
    #[serde(default)]
    pub connect: Option<String>,
    /// When the service is ready.
    pub ready: Ready,
    /// Of an HTTP service: path of a request, to the answer that is expected.
    #[serde(default)]
    pub serves: BTreeMap<String, Expected>,
    /// How the service is stopped.
    pub stop: Stop,
    /// Logs that the service writes.
    #[serde(default)]
    pub logs: Logs,
}

/// Whether a text can be the name of a service: lower-case letters, digits and hyphens. A name
/// becomes part of paths.
pub fn is_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.bytes().all(plain)
}

/// The protocol of a service. A study can drive the protocols in which it knows how to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    Http,
    Redis,
    Memcached,
    Postgresql,
    Mysql,
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Http => "HTTP",
            Self::Redis => "the Redis protocol",
            Self::Memcached => "the memcached protocol",
            Self::Postgresql => "the PostgreSQL protocol",
            Self::Mysql => "the MySQL protocol",
        })
    }
}

/// How the program is found, recognised, and installed where it is absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Find {
    /// Names of the program; the first that is found is used.
    pub programs: Vec<String>,
    /// Folders that are searched after those of `PATH`. A `*` stands for one name; of several
    /// matches, the highest version comes first.
    #[serde(default)]
    pub places: Vec<String>,
    /// The version required, whole or as a prefix, such as `3.12` for 3.12.4; null for any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The path of the program, where only that one may be used; null where it is searched for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Arguments that make the program print its version and end.
    pub version_arguments: Vec<String>,
    /// A piece of that output, with `{version}` in the place of the version.
    pub version_pattern: String,
    /// `ID` of a distribution (os-release(5)) to the exact line that installs the program.
    pub install: BTreeMap<String, String>,
    /// Where to read how to install it anywhere else.
    pub home: String,
}

/// A command that is run to its end before the service is started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prepare {
    /// A program and its arguments, without a shell. A bare name is searched for beside the
    /// service's program and in the same places.
    pub command: Vec<String>,
    /// How long the command may take, ms.
    pub within_ms: u32,
}

/// How a service is started: a program and its arguments, without a shell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// The path of the program to start, where that is not the program that was found.
    #[serde(default)]
    pub program: Option<String>,
    /// Arguments of the program, without a shell.
    pub arguments: Vec<String>,
    /// Further arguments to listen on its socket alone; `None` for a service that always listens on
    /// an address.
    #[serde(default)]
    pub on_socket: Option<Vec<String>>,
    /// Further arguments to listen on an address.
    #[serde(default)]
    pub on_address: Vec<String>,
}

/// When a service is ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ready {
    /// The sign that it is ready.
    pub when: Readiness,
    /// How long the service may take from the start until it is ready, ms.
    pub within_ms: u32,
}

/// The sign that a service is ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Readiness {
    /// A GET of this path on its port has status 200.
    Http(String),
    /// Its port, or its socket where it listens on that alone, accepts a connection, and the bytes
    /// sent are answered as expected.
    Exchange(Exchange),
    /// One of its logs has a line that contains this text.
    Line(String),
    /// This command ends with status 0; its program is found like those of [`Prepare`].
    Command(Vec<String>),
}

/// Bytes to send and how the answer begins; with neither, an accepted connection is enough.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// What is sent.
    pub send: String,
    /// How the answer begins.
    pub expect: String,
}

/// How a service is stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// The signal that asks the service to end.
    pub signal: StopSignal,
    /// Time after the signal at which whatever is left of the service is killed, ms.
    pub grace_ms: u32,
}

/// The signal that asks a service to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum StopSignal {
    #[serde(rename = "SIGTERM")]
    Terminate,
    #[serde(rename = "SIGINT")]
    Interrupt,
    #[serde(rename = "SIGQUIT")]
    Quit,
}

/// What a service writes besides its answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Logs {
    /// Files below its folder that are shown when it fails, besides its standard output and error,
    /// which always are.
    pub files: Vec<String>,
    /// Largest size of any file of the service, in bytes, so that a flood of complaints cannot fill
    /// the disk.
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoundService {
    /// The path of its program.
    pub program: String,
    /// What the program calls its version.
    pub version: String,
    /// SHA-256 of the program, in hexadecimal; null where it may not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// The service of a run, as it is saved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceRecord {
    /// The whole description, so that the run can be resumed where the service file is missing.
    pub description: Service,
    /// SHA-256 of the file it was read from, in hexadecimal.
    pub sha256: String,
    /// What the program called its version.
    pub version: String,
    /// SHA-256 of the program, in hexadecimal; absent where it may not be read, and in older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_sha256: Option<String>,
}

/// A text that may contain variables, with the keys that lead to it.
type Template<'a> = (Vec<String>, &'a mut String);

impl Service {
    /// Returns every text that may contain variables, with the keys that lead to it.
    pub fn texts(&self) -> Vec<(Vec<String>, String)> {
        let mut copy = self.clone();
        let place = |(keys, text): Template<'_>| (keys, text.clone());
        copy.templates().into_iter().map(place).collect()
    }

    /// Returns the service with every variable replaced by its value from `value_of`; a variable
    /// without a value stays as it is.
    #[must_use]
    pub fn filled(&self, value_of: impl Fn(&str) -> Option<String>) -> Self {
        let mut filled = self.clone();
        for (_, text) in filled.templates() {
            *text = fill(text, &value_of);
        }
        filled
    }

    /// Whether any of its texts contains this variable.
    pub fn mentions(&self, variable: &str) -> bool {
        let has = |text: &str| words_in_braces(text).any(|word| word == variable);
        self.texts().iter().any(|(_, text)| has(text))
    }

    /// Whether the service can be told which address to listen on.
    pub fn takes_an_address(&self) -> bool {
        ADDRESS_VARIABLES
            .iter()
            .any(|variable| self.mentions(variable))
    }

    /// Whether the service uses the password that is made for it.
    pub fn wants_a_password(&self) -> bool {
        self.mentions(PASSWORD) || self.mentions(PASSWORD_FILE)
    }

    fn templates(&mut self) -> Vec<Template<'_>> {
        let mut templates = Vec::new();
        templates.extend(of_table("environment", &mut self.environment));
        templates.extend(of_table("files", &mut self.files));
        let bodies = self.serves.iter_mut();
        templates.extend(
            bodies.filter_map(|(path, expected)| {
                Some((keys(&["serves", path]), expected.text_mut()?))
            }),
        );
        for (index, prepare) in self.prepare.iter_mut().enumerate() {
            let keys = ["prepare", &index.to_string(), "command"];
            templates.extend(of_list(&keys, &mut prepare.command));
        }
        templates.extend(of_start(&mut self.start));
        let socket = self.socket.as_mut();
        templates.extend(socket.map(|text| (keys(&["socket"]), text)));
        let connect = self.connect.as_mut();
        templates.extend(connect.map(|text| (keys(&["connect"]), text)));
        templates.extend(of_readiness(&mut self.ready.when));
        templates
    }
}

fn keys(keys: &[&str]) -> Vec<String> {
    keys.iter().map(|key| (*key).to_owned()).collect()
}

fn of_table<'a>(
    name: &'static str,
    table: &'a mut BTreeMap<String, String>,
) -> impl Iterator<Item = Template<'a>> {
    let place = move |(key, text): (&String, &'a mut String)| (keys(&[name, key]), text);
    table.iter_mut().map(place)
}

fn of_list<'a>(path: &[&str], list: &'a mut [String]) -> impl Iterator<Item = Template<'a>> {
    let path = keys(path);
    list.iter_mut().enumerate().map(move |(index, text)| {
        let mut keys = path.clone();
        keys.push(index.to_string());
        (keys, text)
    })
}

fn of_start(start: &mut Start) -> impl Iterator<Item = Template<'_>> {
    let program = start.program.as_mut();
    let program = program.map(|text| (keys(&["start", "program"]), text));
    let on_socket = start.on_socket.iter_mut().flatten().enumerate();
    let at = |index: usize| keys(&["start", "on_socket", &index.to_string()]);
    of_list(&["start", "arguments"], &mut start.arguments)
        .chain(program)
        .chain(on_socket.map(move |(index, text)| (at(index), text)))
        .chain(of_list(&["start", "on_address"], &mut start.on_address))
}

fn of_readiness(when: &mut Readiness) -> Vec<Template<'_>> {
    let at = |kind: &str| keys(&["ready", "when", kind]);
    match when {
        Readiness::Http(path) => vec![(at("http"), path)],
        Readiness::Line(text) => vec![(at("line"), text)],
        Readiness::Exchange(Exchange { send, expect }) => {
            let at = |field: &str| keys(&["ready", "when", "exchange", field]);
            vec![(at("send"), send), (at("expect"), expect)]
        }
        Readiness::Command(words) => of_list(&["ready", "when", "command"], words).collect(),
    }
}
