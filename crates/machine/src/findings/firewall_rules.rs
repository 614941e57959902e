//! Rules that every packet is compared with: nftables, and the tables of legacy iptables.

use std::collections::BTreeMap;
use std::io;

use model::finding::Finding;

use super::{Subject, counted};
use crate::errno::{denied, errno};
use crate::nftables::ListedRule;

/// Lists of legacy tables for both IP versions; the files exist once the module is loaded.
const LEGACY: [&str; 2] = ["proc/net/ip_tables_names", "proc/net/ip6_tables_names"];

pub(super) fn check(subject: &Subject) -> Option<Finding> {
    Some(judge(&subject.nft_rules, &legacy_tables(subject)))
}

fn judge(nft: &io::Result<Vec<ListedRule>>, legacy: &io::Result<Vec<String>>) -> Finding {
    let is_hidden = nft.is_err() || legacy.is_err();
    let counts = [
        nft.as_ref().map_or(0, Vec::len),
        legacy.as_ref().map_or(0, Vec::len),
    ];
    let rules = in_the_way(counts);
    let (nft, legacy) = (nft_evidence(nft), legacy_evidence(legacy));
    if !rules.is_empty() {
        return say!("firewall-rules.passed", rules, nft, legacy);
    }
    match is_hidden {
        true => say!("firewall-rules.hidden", nft, legacy),
        false => say!("firewall-rules.none", nft, legacy),
    }
}

fn in_the_way([rules, tables]: [usize; 2]) -> String {
    let rules = (rules > 0).then(|| counted(rules, "nft rule", "nft rules"));
    let tables = (tables > 0).then(|| {
        let (one, several) = ("table of legacy iptables", "tables of legacy iptables");
        counted(tables, one, several)
    });
    let parts: Vec<_> = [rules, tables].into_iter().flatten().collect();
    parts.join(" and ")
}

/// Counts rules per table; whoever makes a table names it, such as `filter` or `nat`.
fn nft_evidence(nft: &io::Result<Vec<ListedRule>>) -> String {
    match nft {
        Ok(rules) if rules.is_empty() => "nftables lists no rule".to_owned(),
        Ok(rules) => {
            let mut tables = BTreeMap::new();
            for rule in rules {
                *tables.entry(rule.table.as_str()).or_insert(0_usize) += 1;
            }
            let texts = tables
                .iter()
                .map(|(table, count)| format!("{table}: {count}"));
            let texts: Vec<_> = texts.collect();
            format!("nft rules by table: {}", texts.join(", "))
        }
        Err(error) => format!("nftables: {}", errno(error)),
    }
}

fn legacy_evidence(legacy: &io::Result<Vec<String>>) -> String {
    match legacy {
        Ok(tables) if tables.is_empty() => "no table of legacy iptables".to_owned(),
        Ok(tables) => format!("legacy iptables: {}", tables.join(", ")),
        Err(error) => denied("/proc/net/ip_tables_names", error),
    }
}

/// Names of the legacy tables; only root may read the files.
fn legacy_tables(subject: &Subject) -> io::Result<Vec<String>> {
    let mut tables = Vec::new();
    for file in LEGACY {
        match subject.tree.try_text(file) {
            Ok(text) => tables.extend(text.lines().map(str::to_owned)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(tables)
}

#[cfg(test)]
mod tests {
    use model::finding::Severity;

    use super::*;

    fn rules(count: usize) -> Vec<ListedRule> {
        let rule = ListedRule {
            table: "filter".to_owned(),
            chain: "input".to_owned(),
            tracks_connections: false,
        };
        vec![rule; count]
    }

    #[test]
    fn rules_and_legacy_tables_are_counted() {
        let finding = judge(&Ok(rules(12)), &Ok(vec!["nat".to_owned()]));
        assert_eq!(
            finding.what,
            "Packets pass 12 nft rules and one table of legacy iptables."
        );
        assert!(finding.evidence.contains("filter: 12") && finding.evidence.contains("nat"));
    }

    #[test]
    fn what_may_not_be_listed_is_unknown_unless_the_other_half_shows_rules() {
        let refused = || io::Error::from_raw_os_error(1);
        let finding = judge(&Err(refused()), &Err(refused()));
        assert_eq!(finding.severity, Severity::Unknown);
        assert!(finding.evidence.contains("EPERM"));
        assert_eq!(
            judge(&Ok(rules(1)), &Err(refused())).severity,
            Severity::Notice
        );
        assert_eq!(
            judge(&Ok(rules(0)), &Ok(Vec::new())).severity,
            Severity::Fine
        );
    }
}
