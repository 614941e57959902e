//! `linerate probe`: the ceilings of this machine.

pub(crate) mod cores;
pub(crate) mod quick;

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Subcommand;

use crate::console::Console;

/// Measure what this machine can do at most, in seconds: ceilings with intervals
///
/// Without a subcommand it measures all that take only a moment: system calls, switches and
/// wake-ups of threads, timers, TCP over loopback and a pair of devices, memory, cryptography, the
/// page cache and a disk. Each is measured once in each of 16 rounds, in random order, and reported
/// as the median. For about four seconds it keeps the CPUs that it measures busy, even if the
/// machine is at work. It changes nothing, measures on CPUs that this process may use, and needs
/// root only for the pair of devices. It uses a file of at most 64 MiB, which has no name and is
/// gone however it ends. docs/probes.md says what each probe is and how it can mislead.
#[derive(clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_long_help = "\
Examples:
  What can this machine do at most?
    linerate probe
  With the disk that a folder is on, for a script:
    linerate probe --folder /srv --json | jq '.ceilings[] | {name, value: .found.value}'
  How far is my other machine, through the network's devices?
    linerate probe --to 10.0.0.2 --mine 10.0.0.2
  Which CPUs are near one another, and how far is it to the others?
    linerate probe cores"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    probe: Option<Probe>,
    #[command(flatten)]
    quick: quick::Arguments,
}

#[derive(Subcommand)]
enum Probe {
    Cores(cores::Arguments),
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    match &arguments.probe {
        Some(Probe::Cores(arguments)) => cores::run(arguments, console),
        None => quick::run(&arguments.quick, console),
    }
}

/// The CPUs that are measured.
#[derive(clap::Args)]
struct CpuChoice {
    /// CPUs to measure on, such as 0-3,8 [default: all that this process may use]
    #[arg(long, value_name = "LIST")]
    cpus: Option<String>,
}

impl CpuChoice {
    /// Returns the CPUs in ascending order: at least one, and all usable by this process.
    fn chosen(&self) -> anyhow::Result<Vec<usize>> {
        let mut cpus = match &self.cpus {
            None => sys::cpu::allowed().context("reading which CPUs may be used")?,
            Some(list) => {
                sys::cpu::parse_list(list).map_err(|why| anyhow::anyhow!("--cpus: {why}"))?
            }
        };
        cpus.sort_unstable();
        cpus.dedup();
        sys::cpu::all_allowed(&cpus)?;
        Ok(cpus)
    }
}
