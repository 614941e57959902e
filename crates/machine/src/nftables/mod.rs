//! nftables over netlink: our own tables with rules that never match, a look at the rules of
//! others, and a copy of them. It needs no `nft` program.

mod attributes;
mod compatibility;
mod encode;
mod harmless;
mod ours;
mod ruleset;

use std::io;
use std::ops::ControlFlow;

use sys::netlink::{Family, Message, Netlink, attributes};

use attributes::{EXPRESSION_NAME, find, name};
use encode::{Batch, Part};
pub use ours::Table;
pub use ruleset::Ruleset;

/// A rule as the kernel lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedRule {
    pub table: String,
    pub chain: String,
    /// Whether it looks at the state of connections, which makes the kernel track them.
    pub tracks_connections: bool,
}

/// Lists the rules of all tables in the caller's network namespace.
///
/// # Errors
/// `EPERM` without `CAP_NET_ADMIN` there; `EPROTONOSUPPORT` if the kernel has no nftables.
pub fn rules() -> io::Result<Vec<ListedRule>> {
    let mut found = Vec::new();
    let (request, sequence) = encode::list(Part::Rule, 0, &[]);
    Netlink::open(Family::Netfilter)?.ask(&request, sequence, |message| {
        found.extend(listed_rule(&message));
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

fn send(batch: Batch) -> io::Result<()> {
    let (request, last) = batch.close();
    Netlink::open(Family::Netfilter)?.ask(&request, last, |_| ControlFlow::Continue(()))
}

/// Parses a rule from `NFTA_RULE_TABLE`, `_CHAIN` and `_EXPRESSIONS`.
fn listed_rule(message: &Message<'_>) -> Option<ListedRule> {
    let (_, rule) = encode::listed(Part::Rule, message)?;
    find(rule, 1)?;
    find(rule, 2)?;
    let [table, chain] = [1, 2].map(|kind| String::from_utf8_lossy(name(rule, kind)).into_owned());
    Some(ListedRule {
        table,
        chain,
        tracks_connections: tracks_connections(find(rule, 4).unwrap_or_default()),
    })
}

/// Whether an expression of a rule is `ct`, or the `conntrack` match of `iptables-nft`, which the
/// kernel lists as an opaque `match`.
fn tracks_connections(expressions: &[u8]) -> bool {
    attributes(expressions).any(|(_, expression)| match name(expression, EXPRESSION_NAME) {
        b"ct" => true,
        b"match" => expression.windows(9).any(|window| window == b"conntrack"),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The encoder's own rule, read as the kernel would list it.
    fn as_listed(rule: ours::Rule) -> ListedRule {
        let table = Table {
            table: "table".to_owned(),
            at: vec![ours::Hook::Input],
            rule,
        };
        let (datagram, _) = table.ruleset(8).batch().close();
        let mut listed =
            sys::netlink::messages(&datagram).filter_map(|message| listed_rule(&message));
        listed.next().unwrap()
    }

    #[test]
    fn a_rule_is_read_back_as_it_was_written() {
        let rule = as_listed(ours::Rule::DropFromNobody);
        assert_eq!(
            (rule.table.as_str(), rule.chain.as_str()),
            ("table", "input")
        );
        assert!(!rule.tracks_connections);
    }

    #[test]
    fn a_rule_on_the_state_of_connections_is_known_by_its_expression() {
        assert!(as_listed(ours::Rule::LookAtConnectionState).tracks_connections);
    }

    #[test]
    fn an_answer_cut_short_is_no_rule() {
        let message = Message {
            kind: Part::Rule.added(),
            flags: 0,
            sequence: 1,
            payload: &[2, 0],
        };
        assert_eq!(listed_rule(&message), None);
    }
}
