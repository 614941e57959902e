//! Root's state in a folder of a test's own. It is in `/run` whatever the environment says, so that
//! folder is `/run` to the program, in a mount namespace of its own.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// `command` with its state below a folder; it stays the same process.
pub(crate) fn with_state_below(mut command: Command, run: &Path) -> Command {
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        command.env("XDG_RUNTIME_DIR", run);
        return command;
    }
    let mut inside = Command::new("unshare");
    let words = "mount --bind \"$0\" /run && exec \"$@\"";
    inside.args(["--mount", "sh", "-c", words]).arg(run);
    inside.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => inside.env(name, value),
            None => inside.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        inside.current_dir(folder);
    }
    inside.stdin(Stdio::null());
    inside
}
