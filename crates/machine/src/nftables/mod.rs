//! nftables over netlink: tables of ours with rules that never match, a look at the rules of others,
//! and a copy of them. Needs no `nft` program.

mod attributes;
mod compatibility;
mod encode;
mod expressions;
mod harmless;
mod ruleset;

use std::ffi::CStr;
use std::io;
use std::ops::ControlFlow;

use netlink_bindings::nftables::{IterableRuleAttrs, OpGetruleDump};
use sys::netlink::{Family, Message, Netlink};

use crate::namespace::PrivateNamespace;
pub use encode::Hook;
use encode::{Batch, Part};
pub use expressions::Rule;
pub use ruleset::Ruleset;

/// A table of ours.
#[derive(Clone, Debug)]
pub struct Table {
    pub name: &'static CStr,
    /// How many addresses of nobody its set has; without any it has no set.
    pub nobodies: u16,
    /// Its rules, each in the one chain at its hook.
    pub rules: Vec<(Hook, Rule)>,
}

/// Adds a table with its chains and rules, at once or not at all.
///
/// # Errors
/// The kernel's errno: `EEXIST` when there is a table of that name.
pub fn add_table(_proof: PrivateNamespace, table: &Table) -> io::Result<()> {
    let mut batch = Batch::new();
    batch.new_table(table.name);
    if table.nobodies > 0 {
        batch.new_nobodies(table.name, table.nobodies);
    }
    let mut hooks: Vec<Hook> = table.rules.iter().map(|(hook, _)| *hook).collect();
    hooks.dedup();
    for hook in hooks {
        batch.new_chain(table.name, hook);
    }
    for (hook, rule) in &table.rules {
        batch.new_rule(table.name, *hook, *rule);
    }
    send(batch)
}

/// Takes a table away with everything in it.
///
/// # Errors
/// The kernel's errno: `ENOENT` when there is no such table.
pub fn delete_table(_proof: PrivateNamespace, name: &CStr) -> io::Result<()> {
    let mut batch = Batch::new();
    batch.delete_table(encode::INET, name);
    send(batch)
}

/// A rule as the kernel lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedRule {
    pub table: String,
    pub chain: String,
    /// It looks at the state of connections, so the kernel must track them.
    pub tracks_connections: bool,
}

/// The rules of all tables in the caller's network namespace.
///
/// # Errors
/// `EPERM` without `CAP_NET_ADMIN` there; `EPROTONOSUPPORT` where the kernel has no nftables.
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

fn listed_rule(message: &Message<'_>) -> Option<ListedRule> {
    if message.kind != encode::LISTED_RULE {
        return None;
    }
    let (_, rule) = OpGetruleDump::decode_request(message.payload);
    Some(ListedRule {
        table: rule.get_table().ok()?.to_string_lossy().into_owned(),
        chain: rule.get_chain().ok()?.to_string_lossy().into_owned(),
        tracks_connections: tracks_connections(&rule),
    })
}

/// Whether an expression of the rule is `ct`, or the `conntrack` match of `iptables-nft`, which the
/// kernel lists as an opaque `match`.
fn tracks_connections(rule: &IterableRuleAttrs<'_>) -> bool {
    let Ok(expressions) = rule.get_expressions() else {
        return false;
    };
    expressions
        .get_elem()
        .any(|expression| match expression.get_name() {
            Ok(name) if name == c"ct" => true,
            Ok(name) if name == c"match" => {
                let data = expression.get_buf();
                data.windows(9).any(|window| window == b"conntrack")
            }
            _ => false,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The encoder's own rule, read as the kernel would list it.
    fn as_listed(rule: Rule) -> ListedRule {
        let mut batch = Batch::new();
        batch.new_rule(c"table", Hook::Input, rule);
        let (datagram, _) = batch.close();
        let mut listed =
            sys::netlink::messages(&datagram).filter_map(|message| listed_rule(&message));
        listed.next().unwrap()
    }

    #[test]
    fn a_rule_is_read_back_as_it_was_written() {
        let rule = as_listed(Rule::DropFromNobody(7));
        assert_eq!(
            (rule.table.as_str(), rule.chain.as_str()),
            ("table", "input")
        );
        assert!(!rule.tracks_connections);
    }

    #[test]
    fn a_rule_on_the_state_of_connections_is_known_by_its_expression() {
        assert!(as_listed(Rule::LookAtConnectionState).tracks_connections);
    }

    #[test]
    fn an_answer_cut_short_is_no_rule() {
        let message = Message {
            kind: encode::LISTED_RULE,
            flags: 0,
            sequence: 1,
            payload: &[2, 0],
        };
        assert_eq!(listed_rule(&message), None);
    }
}
