//! `linerate rig exec`: a program on a host of a rig, in our place.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, anyhow};
use machine::rig::MARK;
use machine::rig::standing::Standing;
use model::rig::RigName;

/// Becomes the program; returns only when it could not be started.
///
/// In its place there is nothing between it and whoever called: no exit code to translate, no
/// signal to pass on, no terminal to share.
pub(super) fn run(
    name: Option<&RigName>,
    host: &str,
    words: &[OsString],
) -> anyhow::Result<ExitCode> {
    let (program, arguments) = words.split_first().context("no program was given")?;
    let rig = Standing::find(name)?;
    let place = rig.host(host)?;
    place
        .enter()
        .with_context(|| format!("entering {host} of the rig `{}`", rig.name()))?;
    drop(place);
    let mut command = Command::new(program);
    let error = command
        .args(arguments)
        .env(MARK, rig.name().as_str())
        .exec();
    let program = program.display();
    Err(match error.kind() {
        std::io::ErrorKind::NotFound => anyhow!(
            "there is no program `{program}`: it is neither a path that leads to one nor found on \
             PATH"
        ),
        std::io::ErrorKind::PermissionDenied => anyhow!(
            "this user may not run `{program}`, or may not look for it in a folder that PATH names: \
             {error}"
        ),
        _ => anyhow!("`{program}` could not be started: {error}"),
    })
}
