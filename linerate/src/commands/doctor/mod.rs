//! `linerate doctor`: what costs this machine speed, whether it is fit to measure, and how small
//! an effect it can see.

mod page;
mod sight;

use std::process::ExitCode;

use machine::findings;
use model::finding::Finding;
use schemars::JsonSchema;
use serde::Serialize;

use crate::console::Console;
use crate::shape;
use sight::Sight;

/// Look at this machine: is it fit to measure, what to mend, and what effect can it see?
///
/// Changes nothing. A machine at rest is then loaded for eight seconds: two identical servers of
/// ours, on a loopback of our own where that can be had, are measured against each other, because
/// only that shows how small an effect a comparison can see in 1, 5 and 30 minutes. A machine at
/// work is not loaded unless --yes says so. What only root may look at is named with the reason.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Is it fit to measure, and what effect can it see?
    linerate doctor
  Only look, and show the evidence of what is well too:
    linerate doctor --no-load --verbose
  Measure only on a machine that is fit:
    linerate doctor --check && linerate

Exit codes:
  0    it could look, whatever it found
  1    with --check: this machine is not fit to measure now
  2    it could not look")]
pub(crate) struct Arguments {
    /// Also look at this process: its system call filters and its workers
    #[arg(long)]
    pid: Option<u32>,
    /// Only look, in less than two seconds: put no load on the machine
    #[arg(long, conflicts_with = "yes")]
    no_load: bool,
    /// Load this machine even when it is at work
    #[arg(long)]
    yes: bool,
    /// End with exit status 1 when this machine is not fit to measure now
    #[arg(long)]
    check: bool,
    /// Print one JSON value instead of text
    #[arg(long)]
    json: bool,
    /// Show what is as it should be with its evidence too
    #[arg(long, short)]
    verbose: bool,
}

/// Whether a machine is fit to measure now, and what it can see.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Doctor {
    /// Whether measurements made here and now can be trusted.
    fit: bool,
    /// The answer in one sentence.
    answer: String,
    /// What a comparison of two servers can see here.
    visible: sight::VisibleShape,
    /// Everything that was looked at, the most serious first.
    findings: Vec<Finding>,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    if let Some(pid) = arguments.pid {
        let there = std::path::Path::new("/proc").join(pid.to_string()).exists();
        anyhow::ensure!(
            there,
            "there is no process {pid} that can be seen; give --pid a running one"
        );
    }
    let findings = findings::look(arguments.pid);
    let summary = findings::summary(&findings);
    let sight = match arguments.no_load {
        true => Sight::not_measured("--no-load puts no load on the machine"),
        false => sight::measure(arguments.yes, console),
    };
    if arguments.json {
        console.say(&shape::lines(Doctor {
            fit: summary.fit,
            answer: summary.answer,
            visible: sight.shape(),
            findings,
        }));
    } else {
        let verbose = arguments.verbose;
        console.say(&page::render(
            &summary,
            &sight,
            &findings,
            page::width(),
            verbose,
        ));
    }
    Ok(match arguments.check && !summary.fit {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    })
}
