//! Our own tables: what their rules do with a packet, expression by expression, as the `nft`
//! program would write it. The numbers are those of linux/netfilter/nf_tables.h.

use std::ffi::CStr;

use serde::Deserialize;

use super::attributes::{LIST_ELEMENT, numbers, one, push, push_expression};
use super::ruleset::{Piece, Ruleset};
use crate::rtnetlink::push_text;

/// `NFPROTO_INET`: one table for both IP versions.
const INET: u8 = 1;
/// `NFPROTO_IPV4`, as `meta nfproto` returns it.
const IPV4: u8 = 2;
/// `IPPROTO_TCP`, as `meta l4proto` returns it.
const TCP: u8 = 6;
/// `NFT_META_NFPROTO` and `NFT_META_L4PROTO`; `NFT_CT_STATE`.
const PROTOCOL_FAMILY: u32 = 15;
const L4_PROTOCOL: u32 = 16;
const STATE: u32 = 0;
/// `NFT_PAYLOAD_NETWORK_HEADER`, and offset and length of the source address in an IPv4 header,
/// bytes.
const NETWORK_HEADER: u32 = 1;
const SOURCE_AT: u32 = 12;
const ADDRESS_BYTES: u32 = 4;
/// The number of the `nft` program for `ipv4_addr`; the kernel only stores it.
const TYPE_IPV4_ADDRESS: u32 = 7;
/// `NFT_REG_VERDICT`, and the first of the registers that hold data.
const VERDICT: u32 = 0;
const FIRST: u32 = 1;
/// `NF_DROP`.
const DROP: u32 = 0;
/// Name of the set of addresses in a table of ours.
const NOBODIES: &CStr = c"nobodies";
/// The networks reserved for documentation (RFC 5737): no packet of ours comes from there.
const NOBODYS_NETWORKS: [[u8; 3]; 3] = [[203, 0, 113], [198, 51, 100], [192, 0, 2]];
const ADDRESSES_OF_A_NETWORK: u16 = 254;

/// A table of ours, with a chain that has the rule at each of its hooks.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    pub(super) table: String,
    pub(super) at: Vec<Hook>,
    pub(super) rule: Rule,
}

/// The hook at which packets pass a chain of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Hook {
    /// Passed by packets for this host, where firewalls filter.
    Input,
    /// Passed by packets that came in, before their connection is looked up.
    RawPrerouting,
    /// Passed by packets that this host sends, before their connection is looked up.
    RawOutput,
}

/// What the rules of a chain of ours do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Rule {
    /// `ip saddr ADDRESS drop`: several rules, each with the next address of nobody. From the 763rd
    /// on the addresses repeat. The rules compare and never match.
    DropFromNobody,
    /// `ip saddr @nobodies drop`: one look-up in a set of several addresses, which never matches.
    DropFromNobodies,
    /// `ct state 0`, with no action if it matches: it makes the kernel track connections.
    LookAtConnectionState,
    /// `meta l4proto tcp notrack`: no connection is looked up for this packet.
    DoNotTrackTcp,
}

impl Hook {
    /// Returns the name of the chain, the number of the hook and the priority, from
    /// linux/netfilter.h and linux/netfilter_ipv4.h (`NF_IP_PRI_FILTER`, `NF_IP_PRI_RAW`).
    fn place(self) -> (&'static CStr, u32, i32) {
        match self {
            Self::Input => (c"input", 1, 0),
            Self::RawPrerouting => (c"prerouting", 0, -300),
            Self::RawOutput => (c"output", 3, -300),
        }
    }
}

impl Table {
    /// Builds the ruleset to load, with `count` rules or addresses if the rule can have several.
    pub fn ruleset(&self, count: u16) -> Ruleset {
        let rules = match self.rule {
            Rule::DropFromNobody => count,
            _ => 1,
        };
        let has_set = self.rule == Rule::DropFromNobodies;
        let of_set = |piece: &dyn Fn() -> Piece| has_set.then(piece).into_iter().collect();
        let all = |hook| (0..rules).map(move |nth| self.rule(hook, nth));
        Ruleset {
            tables: vec![self.piece(&[])],
            chains: self.at.iter().map(|hook| self.chain(*hook)).collect(),
            sets: of_set(&|| self.set()),
            elements: of_set(&|| self.elements(count)),
            rules: self.at.iter().copied().flat_map(all).collect(),
            ..Ruleset::default()
        }
    }

    /// Whether it makes the kernel track connections.
    pub(crate) fn tracks_connections(&self) -> bool {
        self.rule == Rule::LookAtConnectionState
    }

    /// Builds a part; the first attribute of every part is the name of its table.
    fn piece(&self, rest: &[(u16, &[u8])]) -> Piece {
        let mut attributes = Vec::new();
        push_text(&mut attributes, 1, &self.table);
        for (kind, payload) in rest {
            push(&mut attributes, *kind, payload);
        }
        let family = INET;
        Piece { family, attributes }
    }

    /// `NFTA_CHAIN_NAME`, `_HOOK` (number and priority) and `_TYPE`.
    fn chain(&self, hook: Hook) -> Piece {
        let (name, number, priority) = hook.place();
        let hook = numbers(&[(1, number), (2, priority.cast_unsigned())]);
        let name = name.to_bytes_with_nul();
        self.piece(&[(3, name), (4, &hook), (7, b"filter\0")])
    }

    /// `NFTA_SET_NAME`, `_KEY_TYPE`, `_KEY_LEN` and `_ID`.
    fn set(&self) -> Piece {
        let [key, length, id] = [TYPE_IPV4_ADDRESS, ADDRESS_BYTES, 1].map(u32::to_be_bytes);
        let name = NOBODIES.to_bytes_with_nul();
        self.piece(&[(2, name), (4, &key), (5, &length), (10, &id)])
    }

    /// `NFTA_SET_ELEM_LIST_SET` and `_ELEMENTS`, each with `NFTA_SET_ELEM_KEY` and its value.
    fn elements(&self, count: u16) -> Piece {
        let mut elements = Vec::new();
        for nth in 0..count {
            let key = one(1, &one(1, &nobody(nth)));
            push(&mut elements, LIST_ELEMENT, &key);
        }
        self.piece(&[(2, NOBODIES.to_bytes_with_nul()), (3, &elements)])
    }

    /// `NFTA_RULE_CHAIN` and `_EXPRESSIONS`.
    fn rule(&self, hook: Hook, nth: u16) -> Piece {
        let (chain, ..) = hook.place();
        let expressions = expressions(self.rule, nth);
        self.piece(&[(2, chain.to_bytes_with_nul()), (4, &expressions)])
    }
}

/// The nth address that belongs to nobody, counted from 0.
fn nobody(nth: u16) -> [u8; 4] {
    let network = usize::from(nth / ADDRESSES_OF_A_NETWORK) % NOBODYS_NETWORKS.len();
    let [a, b, c] = NOBODYS_NETWORKS[network];
    let last = nth % ADDRESSES_OF_A_NETWORK + 1;
    [a, b, c, u8::try_from(last).unwrap_or(u8::MAX)]
}

fn expressions(rule: Rule, nth: u16) -> Vec<u8> {
    let mut all = Vec::new();
    match rule {
        Rule::DropFromNobody => {
            load_source(&mut all);
            compare(&mut all, &nobody(nth));
            drop_packet(&mut all);
        }
        Rule::DropFromNobodies => {
            load_source(&mut all);
            let mut lookup = one(1, NOBODIES.to_bytes_with_nul());
            push(&mut lookup, 2, &FIRST.to_be_bytes());
            push_expression(&mut all, b"lookup\0", &lookup);
            drop_packet(&mut all);
        }
        Rule::LookAtConnectionState => {
            push_expression(&mut all, b"ct\0", &numbers(&[(2, STATE), (1, FIRST)]));
            compare(&mut all, &0_u32.to_ne_bytes());
        }
        Rule::DoNotTrackTcp => {
            load(&mut all, L4_PROTOCOL);
            compare(&mut all, &[TCP]);
            push(&mut all, LIST_ELEMENT, &one(1, b"notrack\0"));
        }
    }
    all
}

/// Loads what the kernel knows of the packet by this key into the first register.
fn load(expressions: &mut Vec<u8>, key: u32) {
    push_expression(expressions, b"meta\0", &numbers(&[(2, key), (1, FIRST)]));
}

/// Goes on only with IPv4 packets, and loads their source address into the first register.
fn load_source(expressions: &mut Vec<u8>) {
    load(expressions, PROTOCOL_FAMILY);
    compare(expressions, &[IPV4]);
    let parts = [
        (1, FIRST),
        (2, NETWORK_HEADER),
        (3, SOURCE_AT),
        (4, ADDRESS_BYTES),
    ];
    push_expression(expressions, b"payload\0", &numbers(&parts));
}

/// Goes on with the rule only if the first register holds `value` (`NFT_CMP_EQ`).
fn compare(expressions: &mut Vec<u8>, value: &[u8]) {
    let mut data = numbers(&[(1, FIRST), (2, 0)]);
    push(&mut data, 3, &one(1, value));
    push_expression(expressions, b"cmp\0", &data);
}

fn drop_packet(expressions: &mut Vec<u8>) {
    let mut data = numbers(&[(1, VERDICT)]);
    push(&mut data, 2, &one(2, &numbers(&[(1, DROP)])));
    push_expression(expressions, b"immediate\0", &data);
}
