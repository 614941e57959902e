//! A program under test described as data: how to find, configure, start, await and stop it.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::braces::{fill, words_in_braces};
use crate::expected::Expected;

/// The version of the service file's shape that this program reads.
pub const SERVICE_FORMAT: u32 = 1;

/// The names that may stand in braces in the texts of a service, and what they become.
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

/// A password made anew at each start; what it is may stand where nobody else looks alone.
pub const PASSWORD: &str = "password";
/// The file in the service's folder that holds it.
pub const PASSWORD_FILE: &str = "password_file";

/// Those that tell a service the address to listen on; without either it knows of loopback alone.
const PLACE_VARIABLES: [&str; 2] = ["address", "listen"];

/// A program under test: one TOML file.
///
/// In all texts but those of `find`, and of what answers are like, `{dir}` becomes the service's own folder, which goes with it,
/// `{cache}` a folder that is kept from one start to the next, `{address}` the IP address that it
/// shall listen on, `{port}` its port there, `{listen}` both as URLs have them (`127.0.0.1:8080`,
/// `[::1]:8080`), `{workers}` how many workers it shall have, `{cpus}` the CPUs it is bound to, as a
/// list such as `0-3,8`, and `{message}` what its answers say. `{root}` is the folder whose files it
/// serves below `/files/`, one that is not there where nobody asks for files; `{scheme}` is `http`, or
/// `https` where it shall speak TLS with the certificates in the file `{certificate}` and the key in
/// `{key}`. `{password}` is a password of 32 hexadecimal digits, made anew at each start and to be found in
/// the file `{password_file}`. `{{word}}` stands for `{word}` itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// Shape of this file; see [`SERVICE_FORMAT`].
    pub format: u32,
    /// Lower-case words joined by hyphens; the name of the file.
    pub name: String,
    /// What readers call it.
    pub title: String,
    /// What it speaks on its port.
    pub protocol: Protocol,
    /// How the program is found and told from others.
    pub find: Find,
    /// What its commands find in their environment beside `PATH`, `HOME` and `TMPDIR`.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Path below the service's folder to the text of the file that is written there.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Commands that are run to their ends before the start, in order.
    #[serde(default)]
    pub prepare: Vec<Prepare>,
    /// How it is started.
    pub start: Start,
    /// Path of the Unix socket that it listens on; null for none.
    #[serde(default)]
    pub socket: Option<String>,
    /// The command of a shell that speaks with it, for a reader.
    #[serde(default)]
    pub connect: Option<String>,
    /// When it is ready.
    pub ready: Ready,
    /// Of an HTTP service: path of a request to what its answer must be.
    #[serde(default)]
    pub serves: BTreeMap<String, Expected>,
    /// How it is stopped.
    pub stop: Stop,
    /// What it writes beside its answers.
    #[serde(default)]
    pub logs: Logs,
}

/// Whether a text can be the name of a service: lower-case letters, digits and hyphens. A name
/// becomes part of paths.
pub fn is_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.bytes().all(plain)
}

/// What a service speaks: a study drives those that it knows how to ask.
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

/// How the program is found, told from others, and had where it is absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Find {
    /// Names of the program; the first that is there is taken.
    pub programs: Vec<String>,
    /// Folders that are looked into after those of `PATH`. A `*` stands for one name, and of several
    /// the highest version comes first.
    #[serde(default)]
    pub places: Vec<String>,
    /// The version that it must have or that its version begins with, `3.12` of 3.12.4; null for any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The path of the program, where it is that and no other; null where it is looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What makes the program tell its version and end.
    pub version_arguments: Vec<String>,
    /// A piece of what it then says, with `{version}` where the version stands.
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
    /// A program and its arguments, without a shell. A name is looked for beside the service's
    /// program and where that was looked for.
    pub command: Vec<String>,
    /// How long that may take, ms.
    pub within_ms: u32,
}

/// How it is started: a program and its arguments, without a shell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// The path of what is started, where that is not the program that was found.
    #[serde(default)]
    pub program: Option<String>,
    /// Arguments of the program, without a shell.
    pub arguments: Vec<String>,
    /// Further ones where it shall listen on its socket alone; `None` for a service that always listens on
    /// an address.
    #[serde(default)]
    pub on_socket: Option<Vec<String>>,
    /// Further ones where it shall listen on an address.
    #[serde(default)]
    pub on_address: Vec<String>,
}

/// When it is ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ready {
    /// The sign that it is ready.
    pub when: Readiness,
    /// How long that may take from the start, ms.
    pub within_ms: u32,
}

/// The sign that a service is ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Readiness {
    /// A GET of this path on its port has status 200.
    Http(String),
    /// Its socket, where it listens on that alone, or its port takes a connection, and these bytes are answered with those.
    Exchange(Exchange),
    /// One of its logs has a line with this text.
    Line(String),
    /// This command, found as those of [`Prepare`] are, ends with 0.
    Command(Vec<String>),
}

/// Bytes to send and how the answer begins; with neither it is enough that a connection is taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// What is sent.
    pub send: String,
    /// How the answer begins.
    pub expect: String,
}

/// How it is stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// The signal that asks it to end.
    pub signal: StopSignal,
    /// What is left of it so long after the signal is killed, ms.
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

/// What it writes beside its answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// The whole description, so that the run can go on where its file is not.
    pub description: Service,
    /// SHA-256 of the file it was read from, in hexadecimal.
    pub sha256: String,
    /// What the program called its version.
    pub version: String,
    /// SHA-256 of the program, in hexadecimal; absent where it may not be read, and in older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_sha256: Option<String>,
}

/// A text in which variables may stand, with the keys that lead to it.
type Template<'a> = (Vec<String>, &'a mut String);

impl Service {
    /// Every text in which variables may stand, with the keys that lead to it.
    pub fn texts(&self) -> Vec<(Vec<String>, String)> {
        let mut copy = self.clone();
        let place = |(keys, text): Template<'_>| (keys, text.clone());
        copy.places().into_iter().map(place).collect()
    }

    /// The service with every variable replaced by what `value_of` gives for it; one for which it
    /// gives nothing stays as it stands.
    #[must_use]
    pub fn filled(&self, value_of: impl Fn(&str) -> Option<String>) -> Self {
        let mut filled = self.clone();
        for (_, text) in filled.places() {
            *text = fill(text, &value_of);
        }
        filled
    }

    /// Whether any of its texts has this variable.
    pub fn mentions(&self, variable: &str) -> bool {
        let has = |text: &str| words_in_braces(text).any(|word| word == variable);
        self.texts().iter().any(|(_, text)| has(text))
    }

    /// Whether it can be told the address to listen on.
    pub fn takes_an_address(&self) -> bool {
        PLACE_VARIABLES
            .iter()
            .any(|variable| self.mentions(variable))
    }

    /// Whether it wants the password that is made for it.
    pub fn wants_a_password(&self) -> bool {
        self.mentions(PASSWORD) || self.mentions(PASSWORD_FILE)
    }

    fn places(&mut self) -> Vec<Template<'_>> {
        let mut places = Vec::new();
        places.extend(of_table("environment", &mut self.environment));
        places.extend(of_table("files", &mut self.files));
        let bodies = self.serves.iter_mut();
        places.extend(
            bodies.filter_map(|(path, expected)| {
                Some((keys(&["serves", path]), expected.text_mut()?))
            }),
        );
        for (index, prepare) in self.prepare.iter_mut().enumerate() {
            let keys = ["prepare", &index.to_string(), "command"];
            places.extend(of_list(&keys, &mut prepare.command));
        }
        places.extend(of_start(&mut self.start));
        let socket = self.socket.as_mut();
        places.extend(socket.map(|text| (keys(&["socket"]), text)));
        let connect = self.connect.as_mut();
        places.extend(connect.map(|text| (keys(&["connect"]), text)));
        places.extend(of_readiness(&mut self.ready.when));
        places
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
