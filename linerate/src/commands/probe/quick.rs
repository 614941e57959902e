//! `linerate probe`: all ceilings that take only a moment to measure.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use agent::wires::OwnWires;
use anyhow::{anyhow, ensure};
use machine::probes::quick::{ProbePlace, ROUNDS, Series, measure};
use minijinja::context;
use minijinja::value::Serde;
use model::ceiling::{Ceiling, NoCeiling};
use report::numbers;
use schemars::JsonSchema;
use serde::Serialize;
use sys::scratch_file::unnamed;
use sys::stop::{Again, StopSignal};

use super::CpuChoice;
use crate::console::Console;
use crate::ourselves::OURSELVES;
use crate::progress_line::ProgressLine;
use crate::rig_flags::HostsFlag;
use crate::told::{page, template};
use crate::{ownership, shape, stopping};

/// Two-sided error of the intervals.
const ALPHA: f64 = 0.05;
/// Ending of the name of each rate; all other ceilings are times.
const RATE: &str = "_bytes_per_second";
/// Default port of `--to` (discard). Hardly anybody listens there, and a refusal is a round trip
/// too; sshd(8) would shut out a client that connects often and says nothing.
const DISCARD: u16 = 9;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    cpus: CpuChoice,
    /// Folder for the file that is read from disk; the file has no name, and is gone afterwards
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Also measure how long it takes to open a connection to this HOST or HOST:PORT
    ///
    /// It is one round trip through the network's devices: the kernel there answers even if nobody
    /// listens. The port is 9 unless given. 80 connections are opened: on port 22 sshd may shut you
    /// out for a minute.
    #[arg(long, value_name = "HOST")]
    to: Option<String>,
    /// This host is mine: needed beyond this machine's loopback
    #[arg(long, value_name = "HOST", requires = "to")]
    mine: Vec<String>,
    #[command(flatten)]
    hosts: HostsFlag,
    /// Print one JSON value (docs/schema/probe.json)
    #[arg(long)]
    json: bool,
}

/// What this machine can do at most.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Probed {
    /// Version of the program.
    linerate_version: &'static str,
    /// CPUs that were measured on, by the kernel's numbers.
    cpus: Vec<usize>,
    /// Each ceiling that has a figure, in the order of the page.
    ceilings: Vec<Ceiling>,
    /// Probes that have no figure.
    missing: Vec<NoCeiling>,
    /// Remarks that qualify the figures.
    notes: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    let cpus = arguments.cpus.chosen()?;
    let folder = arguments.folder()?;
    let _stop = StopSignal::listen(Again::Kills)?;
    let mut progress = ProgressLine::new(console, 0);
    let far = arguments.far()?;
    let wires = OwnWires::of(OURSELVES.into());
    let place = ProbePlace {
        cpus: &cpus,
        folder: &folder,
        wires: &wires,
        far,
    };
    let seed = u64::from_ne_bytes(sys::random::bytes()?);
    let measured = measure(place, seed, |round| {
        let (round, rounds) = (round as usize, ROUNDS as usize);
        progress.step(round, rounds, &format!("round {round} of {rounds}"));
    });
    progress.end();
    let mut probed = Probed::of(&cpus, measured?);
    probed
        .notes
        .extend(far.map(|far| format!("tcp_connect_ns was measured to {far}")));
    console.say(&match arguments.json {
        true => shape::lines(&probed),
        false => probed.page(console.width()),
    });
    let stopped = sys::stop::heard().map(stopping::exit_code);
    Ok(stopped.unwrap_or(ExitCode::SUCCESS))
}

impl Arguments {
    /// Returns the folder for the file that is read. A user who names a folder asks for its disk,
    /// so one that cannot be used is an error.
    fn folder(&self) -> anyhow::Result<PathBuf> {
        let Some(folder) = &self.folder else {
            return Ok(std::env::temp_dir());
        };
        unnamed(folder).map_err(|why| {
            anyhow!(
                "--folder {}: no file can be written there: {why}; name a folder that you may write to, on a file system that supports unnamed files (O_TMPFILE), or leave --folder out",
                folder.display()
            )
        })?;
        Ok(folder.clone())
    }

    /// Returns the address of the other machine, if `--to` names one.
    fn far(&self) -> anyhow::Result<Option<SocketAddr>> {
        ensure!(
            self.to.is_some() || self.hosts.hosts.is_none(),
            "--hosts names machines for --to: give --to HOST, or leave --hosts out"
        );
        let to = self.to.as_deref();
        let found = to.map(|to| ownership::machine(to, DISCARD, &self.hosts, &self.mine));
        Ok(found.transpose()?.and_then(|found| found.first().copied()))
    }
}

impl Probed {
    fn of(cpus: &[usize], series: Vec<Series>) -> Self {
        let stopped = sys::stop::heard().map(stopping::name);
        let (mut ceilings, mut missing) = (Vec::new(), Vec::new());
        for Series {
            name,
            what,
            values,
            missing: why,
        } in series
        {
            let (name, what) = (name.to_owned(), what.to_owned());
            match (judge::median::estimate(&values, ALPHA), why) {
                (Some(found), None) => ceilings.push(Ceiling { name, what, found }),
                (_, why) => missing.push(NoCeiling {
                    name,
                    what,
                    why: why.map_or_else(
                        || "it was stopped before".to_owned(),
                        |why| error_words(&why.into()),
                    ),
                }),
            }
        }
        Self {
            linerate_version: shape::VERSION,
            cpus: cpus.to_vec(),
            ceilings,
            missing,
            notes: stopped
                .map(|by| format!("stopped by {by} before all rounds were measured"))
                .into_iter()
                .collect(),
        }
    }

    fn page(&self, width: usize) -> String {
        let rows: Vec<[String; 3]> = self.ceilings.iter().map(row).collect();
        let rows = context! { rows => Serde(rows), ..Serde(self) };
        page(&rows, template!("probe"), width)
    }
}

/// Returns what a ceiling is, its figure, and its interval.
fn row(ceiling: &Ceiling) -> [String; 3] {
    let (found, is_rate) = (&ceiling.found, ceiling.name.ends_with(RATE));
    let (unit, per) = if is_rate { ("bytes", "/s") } else { ("ns", "") };
    let figure = numbers::quantity(found.value, unit) + per;
    [
        ceiling.what.clone(),
        figure,
        numbers::quantity_interval(found, unit),
    ]
}

fn error_words(error: &anyhow::Error) -> String {
    format!("{error:#}")
}

#[cfg(test)]
mod tests {
    use machine::probes::ProbeError;

    use super::*;

    #[test]
    fn the_page_has_a_row_for_each_figure_with_its_unit_and_the_reason_of_each_that_is_missing() {
        let series = |name, values: &[f64], missing| Series {
            name,
            what: name,
            values: values.to_vec(),
            missing,
        };
        let probed = Probed::of(
            &[0, 3],
            vec![
                series("call_ns", &[1_950.0, 2_000.0, 2_100.0], None),
                series("read_bytes_per_second", &[9e9, 10e9, 12e9], None),
                series("wake_ns", &[1.0], Some(ProbeError::OneCpu)),
                series("late_ns", &[], None),
            ],
        );
        let page = probed.page(100);
        let rows = [
            "What this machine can do at most, on CPUs 0,3",
            "  call_ns                                                      2.00 µs  1.95 … 2.10",
            "  read_bytes_per_second                                      10.0 GB/s  9.00 … 12.0",
            "  wake_ns: none, it takes two CPUs, and there is one",
            "  late_ns: none, it was stopped before",
        ];
        for row in rows {
            assert!(page.lines().any(|line| line == row), "{row} in\n{page}");
        }
    }
}
