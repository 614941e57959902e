//! Agents on other machines, reached by the system's OpenSSH with the user's own configuration. The
//! user decides on key, port and route; we insist that host keys are checked.

mod copy;
mod session;

use std::process::Command;

use crate::refusal::Refusal;
use crate::transport::{LineAgent, SILENCE};
use session::Far;

pub use copy::Program;

/// Prepares a command to be started. The caller supplies it, because this crate makes no system
/// calls.
pub type Prepare = fn(&mut Command);

/// Copies a program to a host, unless it is there already, and returns the command that runs it
/// there with `words`. `host` is the name that is typed after `ssh`. Killing the command, or a cut
/// of its line, ends the program's input.
///
/// # Errors
/// What `ssh` or the host reported, and what to do.
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
    // The words are for a POSIX shell.
    Ok(far.session(&format!(
        "exec {path} {words} --silence-limit-s {silence_s}"
    )))
}

/// Starts the agent of a program on a host, copying the program there if necessary.
///
/// # Errors
/// Those of [`command`].
pub fn start_agent(
    host: &str,
    program: &Program,
    prepare: Prepare,
    is_stopped: fn() -> bool,
) -> Result<LineAgent, Refusal> {
    let mut command = command(host, program, "agent --rig hosts", prepare, is_stopped)?;
    Ok(LineAgent::start(&mut command, is_stopped)?.across_a_network())
}
