//! `linerate plan`: which machine to rent, by measured or published figures.

pub(crate) mod network;
mod overheads;
mod price_list;

use std::process::ExitCode;

use clap::Subcommand;

use crate::console::Console;

/// Which machine to rent, with every line of the arithmetic
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Which machine carries 550 Mbit/s of rsync by SSH through OpenVPN?
    linerate plan network --need 550Mbit/s --over openvpn,ssh")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: PlanOf,
}

#[derive(Subcommand)]
enum PlanOf {
    Network(network::Arguments),
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    let PlanOf::Network(arguments) = &arguments.what;
    network::run(arguments, console)
}
