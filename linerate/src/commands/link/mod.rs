//! `linerate link -- COMMAND`: a network that is as slow, lossy or shaped as asked, around a command.

mod arguments;
mod party;

use std::net::Ipv4Addr;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use agent::link::{Carried, LinkProcess};
use anyhow::{Context as _, anyhow};
use machine::rig::{Host, Lab};
use model::Topology;
use model::doubt::{WordedDoubt, worded};
use model::link::{LinkPlan, LinkReading, LinkTally, QdiscReading};
use schemars::JsonSchema;
use serde::Serialize;
use sys::stop::{Again, StopSignal};

use crate::commands::quantiles::Quantiles;
use crate::console::Console;
use crate::failure::words;
use crate::ourselves::OURSELVES;
use crate::run::fresh_seed;
use crate::shape;
use crate::stopping;
use crate::told::{self, template};
pub(crate) use arguments::Arguments;
use party::Party;

/// An emulated link while a command ran: what it was asked to be and what it carried.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LinkShape {
    /// Version of the program.
    linerate_version: &'static str,
    /// What the link was asked to be.
    plan: LinkPlan,
    /// Exit code of the command; 128 and the signal's number where a signal ended it.
    exit_code: u8,
    /// How long the command ran, s.
    elapsed_seconds: f64,
    /// Whether the link's threads had priority over all ordinary ones (SCHED_FIFO), which needs
    /// root; null where the kernel carried the packets.
    goes_first: Option<bool>,
    /// What was carried from the client to the server.
    up: CarriedDirection,
    /// What was carried from the server to the client.
    down: CarriedDirection,
    /// Where the link was not what it was asked to be.
    doubts: Vec<WordedDoubt>,
}

/// What one direction carried.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum CarriedDirection {
    /// Carried by our own process.
    Userspace {
        /// What became of the packets; offered is the sum of carried, lost, dropped, unheld,
        /// unfinished, refused and held.
        tally: LinkTally,
        /// Packets that arrived while the link had no time to receive them, not in the tally,
        /// count.
        missed_packets: u64,
        /// How much later than due packets left, by the link's own clock, µs; a quantile with fewer
        /// than ten packets beyond it is null.
        late_us: Late,
    },
    /// Carried by a queueing discipline of the kernel, with its own counters.
    Kernel(QdiscReading),
}

/// How late packets left.
#[derive(Serialize, JsonSchema)]
struct Late {
    #[serde(flatten)]
    quantiles: Quantiles,
    /// The latest, µs; null where nothing was carried.
    most: Option<f64>,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    let plan = arguments.plan()?.drawing(fresh_seed());
    let stop = StopSignal::listen(Again::Kills)?;
    let lab = Lab::build(Path::new(OURSELVES), Topology::Wire)?;
    let [client, server] = lab.ends().context("the rig has no two ends")?;
    let link = LinkProcess::start(Path::new(OURSELVES), &lab, &plan).map_err(words)?;
    let serve = |line: &String| serve(line, arguments.server_wait, [server, client], console);
    let other_end = arguments.server.as_ref().map(serve).transpose()?;
    if let Some(signal) = sys::stop::heard() {
        return Ok(stopping::exit_code(signal));
    }
    let begun = sys::clock::now();
    let mut command = arguments.command(server.1, client.1);
    let exit_code = Party::start(&mut command, client.0)?.wait(&stop)?;
    let elapsed = begun.elapsed();
    drop(other_end);
    let carried = link.finish().map_err(words)?;
    let link = LinkShape::of(plan, &carried, exit_code, elapsed);
    // The figures go beside what the command has printed, unless they alone are asked for.
    match arguments.json {
        true => console.say(&shape::lines(link)),
        false => console.note(&told::page(&link, template!("link"), console.width())),
    }
    Ok(sys::stop::heard().map_or_else(|| ExitCode::from(exit_code), stopping::exit_code))
}

impl LinkShape {
    fn of(plan: LinkPlan, carried: &Carried, exit_code: u8, elapsed: Duration) -> Self {
        let (goes_first, [up, down]) = match carried {
            Carried::Userspace(readings) => (
                Some(readings.went_first),
                [&readings.up, &readings.down].map(CarriedDirection::of),
            ),
            Carried::Kernel { readings, .. } => {
                (None, readings.clone().map(CarriedDirection::Kernel))
            }
        };
        Self {
            linerate_version: shape::VERSION,
            plan,
            exit_code,
            elapsed_seconds: elapsed.as_secs_f64(),
            goes_first,
            up,
            down,
            doubts: worded(&carried.doubts()),
        }
    }
}

impl CarriedDirection {
    fn of(reading: &LinkReading) -> Self {
        let lateness = &reading.lateness_ns;
        Self::Userspace {
            tally: reading.tally,
            missed_packets: reading.missed_packets,
            late_us: Late {
                quantiles: lateness.into(),
                most: lateness.quantile(1.0).map(|ns| ns as f64 / 1e3),
            },
        }
    }
}

/// Starts the server and waits until it listens, for at most `patience` and only until we are asked
/// to stop. The terminal's Ctrl-C does not reach it: it ends when we end it.
fn serve<'a>(
    line: &str,
    patience: Duration,
    [server, client]: [(&'a Host, Ipv4Addr); 2],
    console: &Console,
) -> anyhow::Result<Party<'a>> {
    let mut command = arguments::shell(line, server.1, client.1);
    let mut party = Party::start(command.process_group(0), server.0)?;
    let may_go_on =
        |party: &mut Party<'_>| party.is_over() || party.listens() || sys::stop::heard().is_some();
    let in_time = patience.is_zero() || sys::clock::wait_until(patience, || may_go_on(&mut party));
    if party.is_over() {
        return Err(anyhow!(
            "the server has ended before the command began: {line}"
        ));
    }
    if !in_time {
        let patience = humantime::format_duration(patience);
        console.note(&format!(
            "the server listens on no TCP port after {patience}: {line}"
        ));
    }
    Ok(party)
}
