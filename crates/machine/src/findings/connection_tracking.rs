//! Whether the kernel looks up the connection of each packet.

use std::io;

use model::finding::Finding;

use super::Subject;
use crate::errno::errno;

const FOLDER: &str = "proc/sys/net/netfilter";
/// Share of the table from which on new connections may soon be dropped.
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

pub(super) fn judge(
    count: Option<u64>,
    most: Option<u64>,
    rules: Result<usize, &io::Error>,
) -> Finding {
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
