//! Formatting: of the workspace, and of the fuzz targets, which are a workspace of their own.

use std::process::Command;

use crate::stage::Stages;
use crate::target;

const FUZZ: &str = "fuzz/Cargo.toml";

/// Formats everything; whether all of it could be.
pub(crate) fn run() -> anyhow::Result<bool> {
    let mut all_well = true;
    for mut command in commands(&[]) {
        all_well &= command.status()?.success();
    }
    Ok(all_well)
}

/// Looks whether everything is formatted, as a stage.
pub(crate) fn check(stages: &mut Stages) -> anyhow::Result<()> {
    for command in commands(&["--check"]) {
        stages.run("format", command)?;
    }
    Ok(())
}

fn commands(flags: &[&str]) -> Vec<Command> {
    let mut commands = vec![target::cargo(&[&["fmt", "--all"], flags].concat())];
    if target::workspace().join(FUZZ).exists() {
        let fuzz = ["fmt", "--manifest-path", FUZZ];
        commands.push(target::cargo(&[&fuzz, flags].concat()));
    }
    commands
}
