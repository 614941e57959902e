//! Whether the kernel looks up the connection of each packet.

use std::io;

use model::finding::Finding;

use super::Subject;
use crate::errno::errno;

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
        return say!("connection-tracking.absent");
    };
    let most = most.filter(|most| *most > 0);
    let is_full = most.is_some_and(|most| count as f64 >= NEARLY_FULL * most as f64);
    let is_tracked = count > 0 || rules.unwrap_or(0) > 0;
    let most = most.map_or_else(|| "hidden".to_owned(), |most| most.to_string());
    let rules = rules.map_or_else(errno, |rules| rules.to_string());
    match (is_tracked, is_full) {
        (false, _) => say!("connection-tracking.none", count, most, rules),
        (true, false) => say!("connection-tracking.tracked", count, most, rules),
        (true, true) => say!("connection-tracking.full", count, most, rules),
    }
}

#[cfg(test)]
mod tests {
    use model::finding::Severity;

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
