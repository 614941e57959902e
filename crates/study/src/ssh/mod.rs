//! Agents on other machines, by the system's OpenSSH with the user's own configuration: which key,
//! which port, which way is his to say; that host keys are checked is ours.

mod copy;
mod private_folder;
mod session;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::transport::{AgentError, LineAgent, SILENCE};
use session::Master;

pub use copy::Program;

/// How a command is made ready to be started: what the study, which makes no system call, leaves
/// to whoever does.
pub type Prepare = fn(&mut Command);

/// Why there is no agent on a host.
#[derive(Debug, thiserror::Error)]
pub enum SshError {
    #[error("`ssh` could not be started: {0}; install the OpenSSH client")]
    Start(std::io::Error),
    #[error("a folder for the connection could not be made: {0}")]
    Folder(std::io::Error),
    #[error("{0} cannot be read to be copied: {1}")]
    Program(String, std::io::Error),
    #[error("{host}: no connection: {words}; {advice}")]
    NoConnection {
        host: String,
        words: String,
        advice: &'static str,
    },
    #[error("{host}: {doing} took longer than {limit_s} s; does the machine hang?")]
    Silent {
        host: String,
        doing: &'static str,
        limit_s: u64,
    },
    #[error("{host}: {doing} failed: {words}")]
    Failed {
        host: String,
        doing: &'static str,
        words: String,
    },
    #[error(
        "{host} is of another kind ({there}) than this program was built for ({here}); take a host \
         of that kind, or start the study from a machine of the host's own kind"
    )]
    OtherKind {
        host: String,
        here: String,
        there: String,
    },
    #[error(transparent)]
    Agent(#[from] AgentError),
}

/// A connection to a host, over which agents' lines go. Dropping it ends it.
pub struct SshConnection(Master);

impl SshConnection {
    /// Connects to a host by the name that is typed after `ssh`.
    ///
    /// # Errors
    /// What `ssh` said, and what to do.
    pub fn open(host: &str, prepare: Prepare, is_stopped: fn() -> bool) -> Result<Self, SshError> {
        Master::connect(host, prepare, is_stopped).map(Self)
    }

    /// Brings a program to the host unless it is there already, and starts its agent.
    ///
    /// # Errors
    /// What the host said.
    pub fn start_agent(&self, program: &Program) -> Result<LineAgent, SshError> {
        let path = program.bring_to(&self.0)?;
        let mut command = self.0.session(&agent_script(&path));
        let words = self.0.words.clone();
        let agent = LineAgent::start_beside(&mut command, self.0.is_stopped, words)?;
        Ok(agent.across_a_network())
    }
}

/// What starts an agent, for a POSIX shell.
fn agent_script(path: &str) -> String {
    let silence_s = SILENCE.as_secs();
    format!("exec {path} agent --rig hosts --silence-limit-s {silence_s}")
}

/// Whole seconds of a limit, for a message.
fn seconds(limit: Duration) -> u64 {
    limit.as_secs()
}

/// The name of a file, for a message.
fn shown(path: &Path) -> String {
    path.display().to_string()
}
