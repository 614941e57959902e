//! `linerate probe`: what this machine can do at most.

pub(crate) mod cores;

use std::process::ExitCode;

use clap::Subcommand;

use crate::console::Console;

/// What this machine can do at most: ceilings, each with its interval, in seconds
///
/// A probe keeps the CPUs that it measures busy at once, also where the machine is at work. It needs no root, changes
/// nothing, and measures on CPUs that this process may use.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Which CPUs are near one another, and how far is it to the others?
    linerate probe cores")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    probe: Probe,
}

#[derive(Subcommand)]
enum Probe {
    Cores(cores::Arguments),
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    match &arguments.probe {
        Probe::Cores(arguments) => cores::run(arguments, console),
    }
}
