//! What of our environment reaches the programs that are measured, and those who keep them: it may hold secrets of
//! whoever started us, and a process can read the environment of any other of its user.

use std::process::Command;

/// Where programs are, and the folders of whoever runs them.
const HANDED_ON: [&str; 3] = ["PATH", "HOME", "TMPDIR"];

/// Leaves a command that little, and nothing else.
pub(crate) fn little(command: &mut Command) {
    let ours = HANDED_ON.map(|name| Some((name, std::env::var_os(name)?)));
    command.env_clear().envs(ours.into_iter().flatten());
}
