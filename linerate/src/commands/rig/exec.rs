//! `linerate rig exec`: replaces this process by a program on a host of a rig.

use std::ffi::OsString;
use std::process::{Command, ExitCode};

use anyhow::Context as _;
use machine::rig::MARK;
use machine::rig::standing::Standing;
use model::rig::RigName;

use crate::in_our_place::become_it;

/// Becomes the program; returns only when it could not be started.
///
/// That leaves nothing between the program and its caller: no exit code to translate, no signal to
/// pass on, no terminal to share.
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
    command.args(arguments).env(MARK, rig.name().as_str());
    Err(become_it(&mut command))
}
