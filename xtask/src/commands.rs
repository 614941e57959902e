//! Programs that are run to their end, and must do well.

use std::process::Command;

use anyhow::{Context as _, ensure};

/// Runs one that speaks for itself.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| shown(command))?;
    ensure!(status.success(), "{} ended with {status}", shown(command));
    Ok(())
}

/// What a program prints; an error with its own words when it fails.
pub(crate) fn output(command: &mut Command) -> anyhow::Result<Vec<u8>> {
    let output = command.output().with_context(|| shown(command))?;
    let (status, words) = (output.status, String::from_utf8_lossy(&output.stderr));
    let shown = shown(command);
    ensure!(status.success(), "{shown} ended with {status}: {words}");
    Ok(output.stdout)
}

/// What a program prints, as text; an error likewise.
pub(crate) fn said(command: &mut Command) -> anyhow::Result<String> {
    Ok(String::from_utf8(output(command)?)?)
}

/// As it would be typed, but of a script its first line, which says what it is for.
fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words = words.map(|word| {
        let word = word.to_string_lossy();
        word.lines().next().unwrap_or_default().to_owned()
    });
    words.collect::<Vec<String>>().join(" ")
}
