//! `linerate agent`: one host's hands, on standard input and output.

use std::path::PathBuf;
use std::process::ExitCode;

use sys::stop::{Again, StopSignal};

/// One host's hands for a study: asks on standard input, tells on standard output
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Work in a network namespace of our own, where the kernel allows it
    #[arg(long)]
    private_namespace: bool,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let setup = agent::Setup {
        // Unlike its path, which may lead through a folder that is root's alone, this can be
        // followed by a child that has become another user.
        program: PathBuf::from("/proc/self/exe"),
        linerate_version: env!("CARGO_PKG_VERSION").to_owned(),
        private_namespace: arguments.private_namespace,
    };
    let _stop = StopSignal::listen(Again::Kills)?;
    agent::answer(setup, std::io::stdin().lock(), std::io::stdout().lock())?;
    Ok(ExitCode::SUCCESS)
}
