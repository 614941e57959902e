//! `linerate link -- COMMAND`: a network that is as slow, lossy or shaped as asked, around a command.

mod arguments;
pub(crate) mod json;
mod page;
mod party;

use std::net::Ipv4Addr;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use agent::link::{Carried, LinkProcess};
use anyhow::{Context as _, anyhow};
use machine::rig::{Host, Lab};
use model::link::LinkPlan;
use sys::stop::{Again, StopSignal};

use crate::console::Console;
use crate::failure::words;
use crate::ourselves::OURSELVES;
use crate::run::fresh_seed;
use crate::stopping;
pub(crate) use arguments::Arguments;
use party::Party;

/// What a link carried while a command ran.
struct LinkReport {
    plan: LinkPlan,
    carried: Carried,
    doubts: Vec<model::Doubt>,
    /// Of the command, as shells give it.
    exit_code: u8,
    elapsed: Duration,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    let plan = arguments.plan()?.drawing(fresh_seed());
    let stop = StopSignal::listen(Again::Kills)?;
    let lab = Lab::build(Path::new(OURSELVES), plan.via.topology())?;
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
    let report = LinkReport {
        plan,
        doubts: carried.doubts(),
        carried,
        exit_code,
        elapsed,
    };
    say(&report, arguments.json, console);
    Ok(sys::stop::heard().map_or_else(|| ExitCode::from(exit_code), stopping::exit_code))
}

/// The figures stand beside what the command has said, unless they alone are asked for.
fn say(report: &LinkReport, json: bool, console: &Console) {
    if json {
        console.say(&json::render(report));
    } else {
        console.note(&page::render(report));
    }
}

/// Starts the other end and waits until it listens, but for no longer than that and not once we
/// are asked to stop. It is out of reach of the terminal's Ctrl-C: it ends when we say so.
fn serve<'a>(
    line: &str,
    patience: Duration,
    [server, client]: [(&'a Host, Ipv4Addr); 2],
    console: &Console,
) -> anyhow::Result<Party<'a>> {
    let mut command = arguments::shell(line, server.1, client.1);
    let mut party = Party::start(command.process_group(0), server.0)?;
    let begun =
        |party: &mut Party<'_>| party.is_over() || party.listens() || sys::stop::heard().is_some();
    let in_time = patience.is_zero() || sys::clock::wait_until(patience, || begun(&mut party));
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
