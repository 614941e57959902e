//! Formats the workspace, and the fuzz targets, which are a separate workspace.

use std::process::Command;

use crate::stage::Stages;
use crate::target;

const FUZZ: &str = "fuzz/Cargo.toml";

/// Formats everything; true if all of it succeeded.
pub(crate) fn run() -> anyhow::Result<bool> {
    let mut all_well = true;
    for mut command in commands(&[]) {
        all_well &= command.status()?.success();
    }
    Ok(all_well)
}

/// Checks that everything is formatted, as stages.
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
