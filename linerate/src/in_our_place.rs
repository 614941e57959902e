//! Replaces this process by another program, whose exit code, signals and terminal are its own.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use anyhow::anyhow;

/// Becomes the program of a command; returns only if it could not be started, and says why.
pub(crate) fn become_it(command: &mut Command) -> anyhow::Error {
    let error = command.exec();
    let program = command.get_program().display();
    match error.kind() {
        std::io::ErrorKind::NotFound => anyhow!(
            "there is no program `{program}`: it is neither a path that leads to one nor found on \
             PATH"
        ),
        std::io::ErrorKind::PermissionDenied => anyhow!(
            "this user may not run `{program}`, or may not look for it in a folder that PATH names: \
             {error}"
        ),
        _ => anyhow!("`{program}` could not be started: {error}"),
    }
}
