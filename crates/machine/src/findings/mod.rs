//! What is looked at on a machine before it is trusted or tuned: one file per check, one line each
//! in a list. Nothing is changed and no load is put on anything.

mod audit;
mod backlog;
mod bpf_programs;
mod clocksource;
mod connection_tracking;
mod cpu_quota;
mod cpus;
mod firewall_rules;
mod foreign_work;
mod frequency;
mod halt_polling;
mod huge_pages;
mod mitigations;
mod packet_taps;
mod pressure;
mod seccomp;
mod security_modules;
mod served_connections;
mod speed;
mod stolen_time;
mod summary;
mod tracing;
mod workers;

use std::io;

use model::facts::Watched;
use model::finding::{Finding, Severity};

use crate::levers;
use crate::nftables::{self, ListedRule};
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
    foreign_work::check,
    pressure::check,
    served_connections::check,
    stolen_time::check,
    speed::check,
];

/// Everything that was looked at, the most serious first. With `pid`, also how that process is set
/// up. Takes less than two seconds.
#[must_use]
pub fn look(pid: Option<u32>) -> Vec<Finding> {
    let subject = Subject {
        tree: Tree::of_this_machine(),
        pid,
        watched: crate::watch(WATCH_MS),
        nft_rules: nftables::rules(),
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
    };
    let mut findings = CHECKS.iter().filter_map(|check| check(&subject));
    findings.find(|finding| finding.name == name)
}

/// Looked at, and as it should be.
fn fine(name: &str, what: impl Into<String>, evidence: impl Into<String>) -> Finding {
    Finding {
        name: name.to_owned(),
        severity: Severity::Fine,
        what: what.into(),
        evidence: evidence.into(),
        cost: String::new(),
        advice: String::new(),
    }
}

/// Costs what the row of its lever says, which has the advice too.
fn costly(
    lever: &str,
    name: &str,
    what: impl Into<String>,
    evidence: impl Into<String>,
) -> Finding {
    let lever = levers::find(lever).and_then(|lever| lever.finding.as_ref());
    let costs = lever.expect("a test sees each costly check find its lever");
    Finding {
        severity: Severity::Notice,
        cost: costs.cost.clone(),
        advice: costs.advice.clone(),
        ..fine(name, what, evidence)
    }
}

/// Could not be looked at.
fn unknown(name: &str, what: impl Into<String>, evidence: impl Into<String>) -> Finding {
    Finding {
        severity: Severity::Unknown,
        ..fine(name, what, evidence)
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_copes_with_a_machine_that_shows_nothing() {
        let mut subject = subject_of(Tree::below("/nonexistent"));
        subject.pid = Some(0x3f_ffff);
        subject.nft_rules = Err(io::Error::from_raw_os_error(1));
        for check in CHECKS {
            let Some(finding) = check(&subject) else {
                continue;
            };
            assert!(!finding.what.is_empty(), "{}", finding.name);
            assert!(finding.severity < Severity::Notice, "{finding:?}");
        }
    }

    #[test]
    fn this_machine_is_looked_at_and_each_cost_comes_with_advice() {
        let findings = look(Some(std::process::id()));
        assert!(findings.len() >= 15);
        assert!(findings.is_sorted_by_key(|finding| std::cmp::Reverse(finding.severity)));
        for finding in &findings {
            let costly = finding.severity >= Severity::Notice;
            assert_eq!(costly, !finding.advice.is_empty(), "{finding:?}");
            assert!(!finding.evidence.is_empty(), "{finding:?}");
        }
        let mut names: Vec<_> = findings.iter().map(|finding| &finding.name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), findings.len(), "a name is used twice");
    }
}
