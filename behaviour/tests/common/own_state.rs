//! Linerate's state in a folder of a test's own. Root's state is in `/run` whatever the environment
//! says, so the folder is mounted on `/run` in a mount namespace of the program's own.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// `command` with its state below a folder. The process that is spawned becomes the command itself.
pub(crate) fn with_state_below(mut command: Command, run: &Path) -> Command {
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        command.env("XDG_RUNTIME_DIR", run);
        return command;
    }
    let mut unshare = Command::new("unshare");
    let words = "mount --bind \"$0\" /run && exec \"$@\"";
    unshare.args(["--mount", "sh", "-c", words]).arg(run);
    unshare.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => unshare.env(name, value),
            None => unshare.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        unshare.current_dir(folder);
    }
    unshare.stdin(Stdio::null());
    unshare
}
