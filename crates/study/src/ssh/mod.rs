//! Agents on other machines, by the system's OpenSSH with the user's own configuration: which key,
//! which port, which way is his to say; that host keys are checked is ours.

mod copy;
mod session;

use std::path::Path;
use std::process::Command;

use crate::transport::{AgentError, LineAgent, SILENCE};
use session::Far;

pub use copy::Program;

/// How a command is made ready to be started: what the study, which makes no system call, leaves
/// to whoever does.
pub type Prepare = fn(&mut Command);

/// Why there is no agent on a host.
#[derive(Debug, thiserror::Error)]
pub enum SshError {
    #[error("`ssh` could not be started: {0}; install the OpenSSH client")]
    Start(std::io::Error),
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

/// Brings a program to a host, by the name that is typed after `ssh`, unless it is there already, and
/// says what starts it there with some words: who kills that, or whose line to there is cut, ends its input.
///
/// # Errors
/// What `ssh` or the host said, and what to do.
pub fn command(
    host: &str,
    program: &Program,
    words: &str,
    prepare: Prepare,
    is_stopped: fn() -> bool,
) -> Result<Command, SshError> {
    let far = Far {
        host: host.to_owned(),
        prepare,
        is_stopped,
    };
    let path = program.bring_to(&far)?;
    let silence_s = SILENCE.as_secs();
    // For a POSIX shell.
    Ok(far.session(&format!(
        "exec {path} {words} --silence-limit-s {silence_s}"
    )))
}

/// Starts the agent of a program likewise.
///
/// # Errors
/// As [`command`].
pub fn start_agent(
    host: &str,
    program: &Program,
    prepare: Prepare,
    is_stopped: fn() -> bool,
) -> Result<LineAgent, SshError> {
    let mut command = command(host, program, "agent --rig hosts", prepare, is_stopped)?;
    Ok(LineAgent::start(&mut command, is_stopped)?.across_a_network())
}

/// The name of a file, for a message.
fn shown(path: &Path) -> String {
    path.display().to_string()
}
