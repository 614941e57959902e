//! Runs programs to their end; one that fails is an error.

use std::process::Command;

use anyhow::{Context as _, ensure};

/// Runs a program whose output goes to the terminal.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| shown(command))?;
    ensure!(status.success(), "{} ended with {status}", shown(command));
    Ok(())
}

/// Runs a program and returns its standard output; when it fails, an error with its standard error.
pub(crate) fn output(command: &mut Command) -> anyhow::Result<Vec<u8>> {
    let output = command.output().with_context(|| shown(command))?;
    let (status, words) = (output.status, String::from_utf8_lossy(&output.stderr));
    let shown = shown(command);
    ensure!(status.success(), "{shown} ended with {status}: {words}");
    Ok(output.stdout)
}

/// Runs a program and returns its standard output as text; when it fails, an error as in
/// [`output`].
pub(crate) fn said(command: &mut Command) -> anyhow::Result<String> {
    Ok(String::from_utf8(output(command)?)?)
}

/// The command as it would be typed; of a script only the first line, which says what it is for.
fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words = words.map(|word| {
        let word = word.to_string_lossy();
        word.lines().next().unwrap_or_default().to_owned()
    });
    words.collect::<Vec<String>>().join(" ")
}
