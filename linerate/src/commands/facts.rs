//! `linerate facts`: what this machine has, on one page.

use std::process::ExitCode;

use crate::console::Console;
use crate::told::{self, template};

/// What this machine has, on one page: CPUs, memory, disks, network, kernel, limits
///
/// Shows what lscpu, lsmem, lsblk, lspci, lsusb, ip link and ethtool would, with virtualisation,
/// mitigations, clocks, the control group, limits and permissions, all as this process sees them.
/// It needs none of those programs and no root; what is hidden is named with the reason. Nothing
/// is changed, and the only load is on one CPU for a fifth of a second, longer where others use it:
/// datagrams to itself show whether the kernel counts interrupts as the time of processes.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  linerate facts
  linerate facts --json | jq '.links[] | {name, driver, qdisc}'
  sudo linerate facts --full

Host name, user, addresses, serial numbers, names that owners choose and unusual mount points are
shown only with --full, so that the page can be passed on as it is.")]
pub(crate) struct Arguments {
    /// Print one JSON value instead of text
    #[arg(long)]
    json: bool,
    /// Also show host name, user, addresses, serial numbers and names that owners choose
    #[arg(long)]
    full: bool,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    let inventory = machine::inventory::collect(arguments.full);
    console.say(&match arguments.json {
        // The inventory has its own version, and its fields keep their order.
        true => serde_json::to_string_pretty(&inventory)?,
        false => told::page(&inventory, template!("facts"), console.width()),
    });
    Ok(ExitCode::SUCCESS)
}
