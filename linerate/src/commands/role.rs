//! `linerate role`: a process of ours on a host of a rig.

use std::process::ExitCode;

use agent::role::Role;

/// Do one thing on a host of a rig as standard input orders, until that ends
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// What to do
    role: Role,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let (input, output) = (std::io::stdin().lock(), std::io::stdout().lock());
    agent::play(arguments.role, input, output)?;
    Ok(ExitCode::SUCCESS)
}
