//! Agents on other machines, by the system's OpenSSH with the user's own configuration: which key,
//! which port, which way is his to say; that host keys are checked is ours.

mod copy;
mod session;

use std::process::Command;

use crate::refusal::Refusal;
use crate::transport::{LineAgent, SILENCE};
use session::Far;

pub use copy::Program;

/// How a command is made ready to be started: what the study, which makes no system call, leaves
/// to whoever does.
pub type Prepare = fn(&mut Command);

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
) -> Result<Command, Refusal> {
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
) -> Result<LineAgent, Refusal> {
    let mut command = command(host, program, "agent --rig hosts", prepare, is_stopped)?;
    Ok(LineAgent::start(&mut command, is_stopped)?.across_a_network())
}
