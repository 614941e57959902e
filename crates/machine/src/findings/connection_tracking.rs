//! Whether the kernel looks up the connection of each packet.

use std::io;

use model::finding::{Finding, Severity};

use super::{Subject, costly, fine};
use crate::errno::errno;

const NAME: &str = "connection-tracking";
const FOLDER: &str = "proc/sys/net/netfilter";
/// Share of the table from which new connections are soon dropped.
const NEARLY_FULL: f64 = 0.8;

pub(super) fn check(subject: &Subject) -> Option<Finding> {
    let rules = subject.nft_rules.as_ref().map(|rules| {
        let asking = rules.iter().filter(|rule| rule.tracks_connections);
        asking.count()
    });
    let number = |name: &str| subject.tree.number(&format!("{FOLDER}/{name}"));
    Some(judge(
        number("nf_conntrack_count"),
        number("nf_conntrack_max"),
        rules,
    ))
}

fn judge(count: Option<u64>, most: Option<u64>, rules: Result<usize, &io::Error>) -> Finding {
    let Some(count) = count else {
        let what = "Connections are not tracked: the kernel part for it is not loaded.";
        return fine(
            NAME,
            what,
            "there is no /proc/sys/net/netfilter/nf_conntrack_count",
        );
    };
    let most = most.filter(|most| *most > 0);
    let evidence = format!(
        "nf_conntrack_count = {count}, nf_conntrack_max = {}, nft rules that ask for a state: {}",
        most.map_or_else(|| "hidden".to_owned(), |most| most.to_string()),
        rules.map_or_else(errno, |rules| rules.to_string())
    );
    if count == 0 && rules.unwrap_or(0) == 0 {
        return fine(
            NAME,
            "Connections are not tracked in this network namespace.",
            evidence,
        );
    }
    let full = most.is_some_and(|most| count as f64 >= NEARLY_FULL * most as f64);
    let tracked = |what| costly(NAME, NAME, what, evidence);
    if !full {
        return tracked("The kernel looks up the tracked connection of each packet.");
    }
    Finding {
        severity: Severity::Problem,
        advice: "raise net.netfilter.nf_conntrack_max, or do not track the service's port"
            .to_owned(),
        ..tracked(
            "The table of tracked connections is nearly full: new connections will be dropped.",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracking_is_told_by_connections_or_by_rules() {
        assert_eq!(judge(Some(0), Some(1000), Ok(0)).severity, Severity::Fine);
        assert_eq!(judge(Some(3), Some(1000), Ok(0)).severity, Severity::Notice);
        assert_eq!(judge(Some(0), None, Ok(1)).severity, Severity::Notice);
        assert_eq!(judge(None, None, Ok(0)).severity, Severity::Fine);
    }

    #[test]
    fn rules_that_may_not_be_listed_are_not_called_none() {
        let refused = io::Error::from_raw_os_error(1);
        let finding = judge(Some(0), None, Err(&refused));
        assert!(
            finding
                .evidence
                .ends_with("a state: Operation not permitted (EPERM)")
        );
    }

    #[test]
    fn a_table_that_is_nearly_full_is_a_problem() {
        assert_eq!(
            judge(Some(900), Some(1000), Ok(0)).severity,
            Severity::Problem
        );
        assert_eq!(judge(Some(900), Some(0), Ok(0)).severity, Severity::Notice);
    }
}
