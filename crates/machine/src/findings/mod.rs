//! What is looked at on a machine before it is trusted or tuned: one file per check, one line each
//! in a list. Nothing is changed and no load is put on anything.

/// What a check found, by the name of the check and of its outcome in `findings.toml`, with the values of
/// these variables for the names in it.
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

/// How long the machine is watched at rest; the checks have two seconds altogether.
const WATCH_MS: u32 = 600;

/// What the checks look at, gathered once.
struct Subject {
    tree: Tree,
    /// The process asked about.
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

/// Everything that was looked at, the most serious first. With `pid`, also how that process is set
/// up. Takes less than two seconds.
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

/// What one check finds, for those that need no watching; `None` where it does not apply.
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

/// What the checks say, by their names.
static TEXTS: LazyLock<BTreeMap<String, Texts>> =
    LazyLock::new(|| crate::tables::own(include_str!("../../findings.toml")));

/// What one check says.
#[derive(Deserialize)]
struct Texts {
    /// What each of its outcomes that costs speed costs, and what to do.
    #[serde(default)]
    cost: String,
    #[serde(default)]
    advice: String,
    /// The lever whose row has both.
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
    /// Of this outcome alone.
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

/// What is said of an outcome, named as `check.outcome`.
fn said(name: &str, words: &[(&str, &dyn Display)]) -> Finding {
    let (check, outcome) = name.split_once('.').unwrap_or_default();
    let texts = &TEXTS[check];
    let said = &texts.outcomes[outcome];
    let severity = said.severity.unwrap_or(Severity::Fine);
    let (cost, advice) = match severity {
        Severity::Fine | Severity::Unknown => ("", ""),
        Severity::Notice | Severity::Problem => texts.costs(),
    };
    Finding {
        name: check.to_owned(),
        severity,
        what: fill(&said.what, words),
        evidence: fill(&said.evidence, words),
        cost: said.cost.as_deref().unwrap_or(cost).to_owned(),
        advice: said.advice.as_deref().unwrap_or(advice).to_owned(),
    }
}

/// One thing or so many things.
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
