//! A program that is run once, and the result of that run.

use std::collections::BTreeMap;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::command_study::CpuUse;
use crate::failure::Failure;
use crate::reading::MachineCpu;

/// A program with everything that decides how it runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommandSpec {
    /// The program and its arguments; for a command line: a shell, `-c` and the line.
    pub words: Vec<String>,
    /// Variables that are added to our own environment, or replace those of the same name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// Where its standard input comes from.
    pub input: CommandInput,
    /// Where its standard output goes.
    pub output: CommandOutput,
    /// Longest time that it may take, ms; then it is ended by force.
    pub timeout_ms: Option<u64>,
}

/// A command that runs in the folder that an agent made for a study. The folder is its home, it has
/// no input, and it runs as nobody if the agent is root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FolderCommand {
    /// The program and its arguments, without a shell.
    pub words: Vec<String>,
    /// Longest time that it may take, ms.
    pub timeout_ms: u64,
    /// The CPUs that it may use.
    pub cpus: CpuUse,
}

/// The result of a command in such a folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ran {
    /// What the kernel reported of it.
    pub reading: CommandReading,
    /// The beginning of its standard output; what is not UTF-8 is replaced.
    pub output: String,
    /// Whether there was more output.
    pub is_cut: bool,
    /// What the host did while the command ran.
    pub meanwhile: Meanwhile,
}

/// What the host did while a command ran, including the time in which we start and await it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Meanwhile {
    /// Length of that time, ns.
    pub window_ns: u64,
    /// CPU time of the command, of our own process, and of kernel threads that finish network work,
    /// ns.
    pub own_ns: u64,
    /// CPU time of everything on all CPUs, from the tick-based totals, ns; `None` where they are
    /// hidden.
    pub busy_ns: Option<u64>,
    /// Share of the time in which some task waited for a CPU, 0 to 1; null where the kernel does
    /// not report it.
    pub psi_some_share: Option<f64>,
}

/// Where standard input comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandInput {
    /// `/dev/null`.
    #[default]
    Null,
    /// A file.
    File(PathBuf),
}

/// Where standard output goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandOutput {
    /// `/dev/null`, which some programs recognise and then do less work.
    #[default]
    Null,
    /// A pipe that is read, and its content discarded.
    Pipe,
    /// Our own standard output, and our standard error for its own.
    Inherit,
    /// A file.
    File(PathBuf),
}

/// One run of a command, as the kernel reported it when the command ended (wait4(2)).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommandReading {
    /// From exec to the end of the process, ns.
    pub wall_ns: u64,
    /// User CPU time of the process and of the children it waited for, ns, without the cost of our
    /// fork.
    pub user_ns: u64,
    /// CPU time of the kernel on their behalf, ns.
    pub system_ns: u64,
    /// The most memory that any one of these processes used at once, bytes.
    pub peak_memory_bytes: u64,
    /// CPU time of all CPUs of this host during the run, including our starting and awaiting it;
    /// absent where it is hidden, and in older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineCpu>,
    /// How it ended.
    pub end: CommandEnd,
    /// Whether processes of its group still existed when it had ended.
    #[serde(default)]
    pub left_running: bool,
    /// The end of what it wrote to standard error; absent if it wrote nothing or succeeded.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub last_words: String,
}

impl CommandReading {
    /// User and system time together.
    pub fn cpu_ns(&self) -> u64 {
        self.user_ns + self.system_ns
    }

    /// Describes how it ended and what it wrote last, for a sentence.
    pub fn ending(&self) -> String {
        let end = self.end.words();
        match self.last_words.as_str() {
            "" => end,
            words => format!("{end}; its last words:\n{words}\n"),
        }
    }
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandEnd {
    /// Exit code.
    Exited(i32),
    /// It was killed.
    Killed {
        /// Number of the signal.
        signal: i32,
    },
    /// We ended it because its time was up.
    TimedOut,
}

impl CommandEnd {
    /// Whether the command ended as a successful program does.
    pub fn is_success(self) -> bool {
        self == Self::Exited(0)
    }

    /// The exit code, where there is one.
    pub fn exit_code(self) -> Option<i32> {
        match self {
            Self::Exited(code) => Some(code),
            Self::Killed { .. } | Self::TimedOut => None,
        }
    }

    /// Describes the end, for a sentence: `exited with 3`.
    pub fn words(self) -> String {
        match self {
            Self::Exited(code) => format!("exited with {code}"),
            Self::Killed { signal } => format!("was killed by signal {signal}"),
            Self::TimedOut => "did not end in time".to_owned(),
        }
    }
}

/// Why there is no reading.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandTrouble {
    /// Somebody asked us to stop, by SIGINT or SIGTERM.
    Stopped,
    /// The command could not be run.
    Failed(Failure),
}
