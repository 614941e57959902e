//! `linerate doctor`: what costs this machine speed, whether it is fit to measure, and how small
//! an effect it can see.

mod sight;

use std::process::ExitCode;

use machine::findings;
use minijinja::context;
use minijinja::value::Serde;
use model::finding::Finding;
use schemars::JsonSchema;
use serde::Serialize;

use crate::console::Console;
use crate::shape;
use crate::told::{self, template};
use sight::Sight;

/// Lines longer than this are hard to read, however wide the terminal.
const WIDEST: usize = 100;
const NARROWEST: usize = 40;

/// Check this machine: is it fit to measure, what to fix, and what effect can it see?
///
/// Nothing is changed. An idle machine is then loaded for eight seconds: two identical servers of
/// ours, on a loopback of our own where possible, are measured against each other, because only
/// that shows how small an effect a comparison can see in 1, 5 and 30 minutes. A machine at work
/// is not loaded without --yes. What only root can check is named with the reason.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Is it fit to measure, and what effect can it see?
    linerate doctor
  Only look, and also show the evidence for what is fine:
    linerate doctor --no-load --verbose
  Measure only on a machine that is fit:
    linerate doctor --check && linerate

Exit codes:
  0    checked, whatever it found
  1    with --check: this machine is not fit to measure now
  2    could not check")]
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
    /// Also show the evidence for what is as it should be
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
    visible: Sight,
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
    let doctor = Doctor {
        fit: summary.fit,
        answer: summary.answer,
        visible: match arguments.no_load {
            true => Sight::not_measured("--no-load puts no load on the machine"),
            false => sight::measure(arguments.yes, console),
        },
        findings,
    };
    let width = console.width().clamp(NARROWEST, WIDEST);
    console.say(&match arguments.json {
        true => shape::lines(&doctor),
        false => doctor.page(width, arguments.verbose),
    });
    Ok(match arguments.check && !doctor.fit {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    })
}

impl Doctor {
    /// Renders the page: the answer, then each finding that costs something in detail, then the
    /// rest in short.
    fn page(&self, width: usize, verbose: bool) -> String {
        let page = context! { verbose, ..Serde(self) };
        told::page(&page, template!("doctor"), width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::finding::Severity;

    fn finding(name: &str, severity: Severity) -> Finding {
        Finding {
            name: name.to_owned(),
            severity,
            what: format!("What of {name}."),
            evidence: format!("evidence of {name}"),
            cost: "+5 % server CPU per request".to_owned(),
            advice: "stop it".to_owned(),
        }
    }

    #[test]
    fn the_answer_comes_first_then_what_costs_then_the_rest() {
        let findings = [
            finding("good", Severity::Fine),
            finding("dear", Severity::Notice),
            finding("hidden", Severity::Unknown),
            finding("bad", Severity::Problem),
        ];
        let summary = findings::summary(&findings);
        let doctor = Doctor {
            fit: summary.fit,
            answer: summary.answer,
            visible: Sight::not_measured("the machine is at work"),
            findings: findings.into(),
        };
        let text = doctor.page(80, false);
        let at = |what: &str| {
            text.find(what)
                .unwrap_or_else(|| panic!("{what} not in {text}"))
        };
        assert!(text.starts_with("This machine is not fit to measure now: what of bad;"));
        assert!(at("the machine is at work") < at("bad (problem)"));
        assert!(at("bad (problem)") < at("dear (notice)"));
        assert!(at("dear (notice)") < at("Could not be checked"));
        assert!(at("[evidence of hidden]") < at("As it should be"));
        assert!(!text.contains("evidence of good"));
    }
}
