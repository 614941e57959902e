use std::process::ExitCode;

use crate::console::Console;

/// Not written yet
#[derive(clap::Args)]
pub(crate) struct Arguments {}

pub(crate) fn run(_arguments: &Arguments, _console: &Console) -> anyhow::Result<ExitCode> {
    anyhow::bail!("not written yet")
}
