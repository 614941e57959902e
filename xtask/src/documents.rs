//! Builds the documentation of the code; a warning of rustdoc is an error.

use std::process::Command;

use crate::target;

/// Builds the documentation; true if there were no warnings.
pub(crate) fn run() -> anyhow::Result<bool> {
    Ok(command().status()?.success())
}

/// The command that builds the documentation, private items included: links between those break as
/// easily.
pub(crate) fn command() -> Command {
    let arguments = ["doc", "--workspace", "--no-deps", "--quiet"];
    let mut command = target::cargo(&[&arguments[..], &["--document-private-items"]].concat());
    command.env("RUSTDOCFLAGS", "-D warnings");
    command
}
