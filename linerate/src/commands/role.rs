//! `linerate role`: a process of ours on a host of a rig.

use std::process::ExitCode;

/// Do one thing on a host of a rig as standard input orders, until that ends
#[derive(clap::Args)]
pub(crate) struct Arguments {}

pub(crate) fn run() -> anyhow::Result<ExitCode> {
    agent::play(std::io::stdin().lock(), std::io::stdout().lock())?;
    Ok(ExitCode::SUCCESS)
}
