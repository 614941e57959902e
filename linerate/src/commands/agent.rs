//! `linerate agent`: one host's hands, on standard input and output.

use std::process::ExitCode;

use anyhow::Context as _;

/// One host's hands for a study: asks on standard input, tells on standard output
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Work in a user and network namespace of our own, where the kernel allows it
    #[arg(long)]
    private_namespace: bool,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let setup = agent::Setup {
        program: std::env::current_exe().context("finding the program itself")?,
        linerate_version: env!("CARGO_PKG_VERSION").to_owned(),
        private_namespace: arguments.private_namespace,
    };
    agent::answer(setup, std::io::stdin().lock(), std::io::stdout().lock())?;
    Ok(ExitCode::SUCCESS)
}
