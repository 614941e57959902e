//! The documents of the code: what rustdoc finds wrong in them is an error.

use std::process::Command;

use crate::target;

/// Builds them; whether nothing was wrong.
pub(crate) fn run() -> anyhow::Result<bool> {
    Ok(command().status()?.success())
}

/// What builds them, private items included: links between those break as easily.
pub(crate) fn command() -> Command {
    let arguments = ["doc", "--workspace", "--no-deps", "--quiet"];
    let mut command = target::cargo(&[&arguments[..], &["--document-private-items"]].concat());
    command.env("RUSTDOCFLAGS", "-D warnings");
    command
}
