//! Checks of a machine before it is trusted or tuned: one file per check, and one line each in a
//! list. The checks change nothing and put no load on anything.

/// The finding of an outcome, which `findings.toml` holds by check and outcome name. Names in its
/// texts are replaced by the values of these variables.
macro_rules! say {
    ($outcome:literal $(, $name:ident)*) => {
        $crate::findings::said($outcome, &[$((stringify!($name), &$name)),*])
    };
}

mod at_rest;
mod audit;
mod backlog;
mod bpf_programs;
mod clocksource;
mod connection_tracking;
mod cpu_quota;
mod cpus;
mod firewall_rules;
mod frequency;
mod halt_polling;
mod huge_pages;
mod mitigations;
mod packet_taps;
mod seccomp;
mod security_modules;
mod stolen_time;
mod summary;
mod tracing;
mod workers;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io;
use std::sync::LazyLock;

use model::facts::Watched;
use model::finding::{Finding, Severity};
use serde::Deserialize;

use self::bpf_programs::BpfPrograms;
use crate::levers;
use crate::nftables::{self, ListedRule};
use crate::template::fill;
use crate::tree::Tree;
pub use summary::{Summary, summary};

/// How long the machine is watched at rest, ms; all checks together may take two seconds.
const WATCH_MS: u32 = 600;

/// What the checks read, gathered once.
struct Subject {
    tree: Tree,
    /// The process that was asked about.
    pid: Option<u32>,
    watched: Watched,
    nft_rules: io::Result<Vec<ListedRule>>,
    bpf_programs: BpfPrograms,
}

/// A check; `None` where it does not apply.
type Check = fn(&Subject) -> Option<Finding>;

static CHECKS: [Check; 22] = [
    packet_taps::check,
    connection_tracking::check,
    firewall_rules::check,
    bpf_programs::check,
    seccomp::check,
    security_modules::check,
    audit::check,
    halt_polling::check,
    mitigations::check,
    cpus::check,
    cpu_quota::check,
    workers::check,
    clocksource::check,
    frequency::check,
    huge_pages::check,
    backlog::check,
    tracing::check,
    at_rest::check_work,
    at_rest::check_pressure,
    at_rest::check_connections,
    stolen_time::check,
    at_rest::check_speed,
];

/// Runs all checks and sorts their findings, the most serious first. With `pid`, they include how
/// that process is set up. Takes less than two seconds.
pub fn look(pid: Option<u32>) -> Vec<Finding> {
    let subject = Subject {
        tree: Tree::of_this_machine(),
        pid,
        watched: crate::watch(WATCH_MS),
        nft_rules: nftables::rules(),
        bpf_programs: BpfPrograms::of_this_machine(),
    };
    let mut findings: Vec<_> = CHECKS.iter().filter_map(|check| check(&subject)).collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    findings
}

/// Runs one check that needs no watching; `None` where it does not apply.
pub(crate) fn look_at(name: &str, tree: &Tree) -> Option<Finding> {
    let subject = Subject {
        tree: tree.clone(),
        pid: None,
        watched: Watched::default(),
        nft_rules: nftables::rules(),
        bpf_programs: BpfPrograms::of_this_machine(),
    };
    let mut findings = CHECKS.iter().filter_map(|check| check(&subject));
    findings.find(|finding| finding.name == name)
}

/// The texts of all checks, by check name.
static TEXTS: LazyLock<BTreeMap<String, Texts>> =
    LazyLock::new(|| crate::tables::own(include_str!("../../findings.toml")));

/// The texts of one check.
#[derive(Deserialize)]
struct Texts {
    /// Cost of those outcomes that cost speed, and what to do about it in `advice`.
    #[serde(default)]
    cost: String,
    #[serde(default)]
    advice: String,
    /// The lever whose row has both instead.
    lever: Option<String>,
    #[serde(flatten)]
    outcomes: BTreeMap<String, Outcome>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Outcome {
    severity: Option<Severity>,
    what: String,
    evidence: String,
    /// Cost and advice of this outcome alone.
    cost: Option<String>,
    advice: Option<String>,
}

impl Texts {
    fn costs(&self) -> (&str, &str) {
        let lever = self.lever.as_deref().and_then(levers::find);
        let costs = lever.and_then(|lever| lever.finding.as_ref());
        costs.map_or((&self.cost, &self.advice), |costs| {
            (&costs.cost, &costs.advice)
        })
    }
}

/// The finding of an outcome, named as `check.outcome`.
fn said(name: &str, words: &[(&str, &dyn Display)]) -> Finding {
    let (check, outcome) = name.split_once('.').unwrap_or_default();
    let texts = &TEXTS[check];
    let text = &texts.outcomes[outcome];
    let severity = text.severity.unwrap_or(Severity::Fine);
    let (cost, advice) = match severity {
        Severity::Fine | Severity::Unknown => ("", ""),
        Severity::Notice | Severity::Problem => texts.costs(),
    };
    Finding {
        name: check.to_owned(),
        severity,
        what: fill(&text.what, words),
        evidence: fill(&text.evidence, words),
        cost: text.cost.as_deref().unwrap_or(cost).to_owned(),
        advice: text.advice.as_deref().unwrap_or(advice).to_owned(),
    }
}

/// `one thing` or a number of things.
fn counted(count: usize, one: &str, several: &str) -> String {
    if count == 1 {
        format!("one {one}")
    } else {
        format!("{count} {several}")
    }
}

#[cfg(test)]
fn subject_of(tree: Tree) -> Subject {
    Subject {
        tree,
        pid: None,
        watched: Watched::default(),
        nft_rules: Ok(Vec::new()),
        bpf_programs: BpfPrograms::hidden(),
    }
}

#[cfg(test)]
mod tests;
