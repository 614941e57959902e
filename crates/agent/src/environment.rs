//! What of our environment reaches the programs that are measured, and those who keep them: it may hold secrets of
//! whoever started us, and a process can read the environment of any other of its user.

use std::ffi::OsString;
use std::process::Command;

/// Where programs are, and the folders of whoever runs them.
const HANDED_ON: [&str; 3] = ["PATH", "HOME", "TMPDIR"];

/// The little of it that is handed on.
pub(crate) fn handed_on() -> Vec<(OsString, OsString)> {
    let ours = HANDED_ON.map(|name| Some((name.into(), std::env::var_os(name)?)));
    ours.into_iter().flatten().collect()
}

/// Leaves a command that little, and nothing else.
pub(crate) fn little(command: &mut Command) {
    command.env_clear().envs(handed_on());
}
