//! `linerate rig`: hosts and links made of network namespaces.

use std::process::ExitCode;

use clap::Subcommand;
use model::Topology;

/// Hosts and links made of network namespaces
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Hold a rig as standard input orders; for Linerate itself
    #[command(hide = true)]
    Hold { kind: Topology },
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    match &arguments.action {
        Action::Hold { kind } => {
            machine::rig::hold(*kind, std::io::stdin().lock(), std::io::stdout().lock())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
