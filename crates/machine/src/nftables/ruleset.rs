//! All tables of a network namespace, read in one namespace and loaded in another. The numbers are
//! those of linux/netfilter/nf_tables.h.
//!
//! The kernel lists parts nearly as it accepts them, so each part is handed back as it came,
//! without knowing what its expressions mean. There are four changes. No packet ends in a rule, so
//! that traffic which these rules do not know still passes. Tables of the family `netdev` are left
//! out. Chains at the ingress of a device get no hook, as no devices but `lo` are there. No packet
//! is handed to a flow table.

use std::io;
use std::ops::ControlFlow;

use sys::netlink::{Family, Netlink, attributes};

use super::attributes::{find, find_number, name, numbers, push};
use super::encode::{self, Batch, Part};
use super::{compatibility, harmless, send};
use crate::namespace::PrivateNamespace;

/// How often rules are read at most, if they change while they are read.
const MOST_TRIES: usize = 3;
/// `NFPROTO_NETDEV`.
const NETDEV: u8 = 5;
/// `NFTA_*_TABLE`, which has the same number for all parts, and `NFTA_TABLE_NAME`.
const TABLE: u16 = 1;
const TABLE_FLAGS: u16 = 2;
/// `NFT_TABLE_F_DORMANT`; the other flags bind a table to the program that made it.
const DORMANT: u32 = 1;
const CHAIN_NAME: u16 = 3;
const CHAIN_HOOK: u16 = 4;
const CHAIN_POLICY: u16 = 5;
/// `NF_ACCEPT`.
const ACCEPT: u32 = 1;
const HOOK_DEVICE: u16 = 3;
const HOOK_DEVICES: u16 = 4;
const RULE_CHAIN: u16 = 2;
const RULE_EXPRESSIONS: u16 = 4;
const SET_NAME: u16 = 2;
const SET_ID: u16 = 10;
const ELEMENTS: u16 = 3;

/// A part of a ruleset: its family, and its attributes in the form in which they are loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) family: u8,
    pub(super) attributes: Vec<u8>,
}

/// The rules of a network namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ruleset {
    pub(super) tables: Vec<Piece>,
    pub(super) chains: Vec<Piece>,
    pub(super) sets: Vec<Piece>,
    pub(super) objects: Vec<Piece>,
    pub(super) elements: Vec<Piece>,
    pub(super) rules: Vec<Piece>,
}

impl Ruleset {
    /// Reads the rules of the caller's network namespace.
    ///
    /// # Errors
    /// `EPERM` without `CAP_NET_ADMIN` there; `EPROTONOSUPPORT` if the kernel has no nftables; and
    /// an error if the rules change during each try.
    pub fn here() -> io::Result<Self> {
        for _ in 0..MOST_TRIES {
            let before = generation()?;
            // An error counts only if nothing changed: what we ask for may vanish while it is
            // listed.
            let found = Self::read();
            if generation()? == before {
                return found;
            }
        }
        Err(io::Error::other("they change while they are read"))
    }

    fn read() -> io::Result<Self> {
        let mut found = Self {
            tables: all(Part::Table)?.iter().map(table).collect(),
            chains: all(Part::Chain)?.iter().map(chain).collect(),
            rules: all(Part::Rule)?.iter().map(rule).collect(),
            objects: all(Part::Object)?.iter().map(object).collect(),
            ..Self::default()
        };
        for (piece, id) in all(Part::Set)?.iter().zip(1..) {
            found.sets.push(set(piece, id));
            found.elements.extend(elements_of(piece)?);
        }
        Ok(found)
    }

    /// Number of rules.
    pub fn rules(&self) -> usize {
        self.rules.len()
    }

    /// Loads all parts at once, or none of them.
    ///
    /// # Errors
    /// The kernel's errno: `EEXIST` if a table is there already, `EPERM` if the parts are larger
    /// than what a socket can send at once and its buffer may not be enlarged.
    pub fn load(&self, _proof: PrivateNamespace) -> io::Result<()> {
        send(self.batch())
    }

    pub(super) fn batch(&self) -> Batch {
        let mut batch = Batch::new();
        let parts = [
            (Part::Table, &self.tables),
            (Part::Chain, &self.chains),
            (Part::Set, &self.sets),
            (Part::Object, &self.objects),
            (Part::Elements, &self.elements),
            (Part::Rule, &self.rules),
        ];
        for (part, pieces) in parts {
            for piece in pieces {
                batch.add(part, piece.family, &piece.attributes);
            }
        }
        batch
    }

    /// Removes the tables again, with everything in them.
    ///
    /// # Errors
    /// The kernel's errno: `ENOENT` if one of them is not there.
    pub fn unload(&self, _proof: PrivateNamespace) -> io::Result<()> {
        let mut batch = Batch::new();
        for table in &self.tables {
            let named = only(table, &[TABLE]);
            batch.delete_table(named.family, &named.attributes);
        }
        send(batch)
    }

    /// Whether a table of that name is one of these.
    pub fn has_table(&self, wanted: &str) -> bool {
        let mut tables = self.tables.iter();
        tables.any(|table| name(&table.attributes, TABLE) == wanted.as_bytes())
    }
}

/// Number of the last change of the ruleset.
fn generation() -> io::Result<Option<u32>> {
    const ID: u16 = 1;
    let listed = list(Part::Generation, 0, &[])?;
    Ok(listed
        .first()
        .and_then(|piece| find_number(&piece.attributes, ID)))
}

/// Lists all parts of a kind, except those of the family `netdev`.
fn all(part: Part) -> io::Result<Vec<Piece>> {
    let mut pieces = list(part, 0, &[])?;
    pieces.retain(|piece| piece.family != NETDEV);
    Ok(pieces)
}

/// Lists the parts of a kind in one family; `which` holds the attributes of the request.
fn list(part: Part, family: u8, which: &[u8]) -> io::Result<Vec<Piece>> {
    let (request, sequence) = encode::list(part, family, which);
    let mut pieces = Vec::new();
    Netlink::open(Family::Netfilter)?.ask(&request, sequence, |message| {
        if let Some((family, attributes)) = encode::listed(part, &message) {
            let attributes = attributes.to_vec();
            pieces.push(Piece { family, attributes });
        }
        ControlFlow::Continue(())
    })?;
    Ok(pieces)
}

/// A copy of the piece with some of its attributes.
fn only(piece: &Piece, kinds: &[u16]) -> Piece {
    let mut kept = Vec::with_capacity(piece.attributes.len());
    for (kind, payload) in attributes(&piece.attributes) {
        if kinds.contains(&kind) {
            push(&mut kept, kind, payload);
        }
    }
    Piece {
        family: piece.family,
        attributes: kept,
    }
}

fn table(piece: &Piece) -> Piece {
    let flags = find_number(&piece.attributes, TABLE_FLAGS).unwrap_or(0) & DORMANT;
    let mut table = only(piece, &[TABLE]);
    table.attributes.extend(numbers(&[(TABLE_FLAGS, flags)]));
    table
}

/// A chain with the policy to accept. A chain at the ingress of a device gets no hook.
fn chain(piece: &Piece) -> Piece {
    const TYPE: u16 = 7;
    let hook = find(&piece.attributes, CHAIN_HOOK);
    let of_device = |hook| find(hook, HOOK_DEVICE).is_some() || find(hook, HOOK_DEVICES).is_some();
    if hook.is_none_or(of_device) {
        return only(piece, &[TABLE, CHAIN_NAME]);
    }
    let mut chain = only(piece, &[TABLE, CHAIN_NAME, CHAIN_HOOK, TYPE]);
    chain.attributes.extend(numbers(&[(CHAIN_POLICY, ACCEPT)]));
    chain
}

fn rule(piece: &Piece) -> Piece {
    const COMPATIBILITY: u16 = 5;
    let expressions = find(&piece.attributes, RULE_EXPRESSIONS).unwrap_or_default();
    let mut rule = only(piece, &[TABLE, RULE_CHAIN]);
    if let Some(asked_for) = compatibility::of(expressions) {
        push(&mut rule.attributes, COMPATIBILITY, &asked_for);
    }
    let expressions = harmless::expressions(expressions);
    push(&mut rule.attributes, RULE_EXPRESSIONS, &expressions);
    rule
}

fn object(piece: &Piece) -> Piece {
    const NAME: u16 = 2;
    const TYPE: u16 = 3;
    const DATA: u16 = 4;
    let kind = find_number(&piece.attributes, TYPE).unwrap_or_default();
    let data = find(&piece.attributes, DATA).unwrap_or_default();
    let mut object = only(piece, &[TABLE, NAME, TYPE]);
    push(&mut object.attributes, DATA, &harmless::object(kind, data));
    object
}

/// A set with a number, by which the sets of a batch are told apart.
fn set(piece: &Piece, id: u32) -> Piece {
    const KEPT: [u16; 14] = [TABLE, SET_NAME, 3, 4, 5, 6, 7, 8, 9, 11, 12, 15, 17, 18];
    let mut set = only(piece, &KEPT);
    set.attributes.extend(numbers(&[(SET_ID, id)]));
    set
}

fn elements_of(set: &Piece) -> io::Result<Vec<Piece>> {
    let which = only(set, &[TABLE, SET_NAME]);
    let listed = list(Part::Elements, set.family, &which.attributes)?;
    let with_any = listed.iter().filter_map(|piece| {
        let elements = harmless::elements(find(&piece.attributes, ELEMENTS)?);
        let mut kept = only(piece, &[TABLE, SET_NAME]);
        push(&mut kept.attributes, ELEMENTS, &elements);
        Some(kept)
    });
    Ok(with_any.collect())
}
