//! The commands, one file each: arguments in, a call into a library, words out.

mod doctor;
mod echo;
mod load;
mod serve;

use std::process::ExitCode;

use clap::Subcommand;

use crate::console::Console;

#[derive(Subcommand)]
pub(crate) enum Command {
    Serve(serve::Arguments),
    Load(load::Arguments),
    Doctor(doctor::Arguments),
    Echo(echo::Arguments),
}

/// Runs one command; without one, the main job.
pub(crate) fn run(command: Option<Command>, console: &Console) -> anyhow::Result<ExitCode> {
    match command {
        Some(Command::Serve(arguments)) => serve::run(&arguments, console),
        Some(Command::Load(arguments)) => load::run(&arguments, console),
        Some(Command::Doctor(arguments)) => doctor::run(&arguments, console),
        Some(Command::Echo(arguments)) => echo::run(&arguments, console),
        None => anyhow::bail!("not written yet"),
    }
}
