//! All tables of a network namespace, read in one and loaded in another. The numbers are those of
//! linux/netfilter/nf_tables.h.
//!
//! What is listed is what is asked for, but for counts and handles, so each part is handed back to
//! the kernel as it came, without knowing what its expressions mean. Four things are otherwise: no
//! verdict ends a packet, so that traffic which these rules do not know still passes; tables of the
//! family `netdev` and chains at the ingress of a device are left out, as the device is not there;
//! and so are rules that hand connections to a device.

use std::ffi::CString;
use std::io;
use std::ops::ControlFlow;

use sys::netlink::{Family, Netlink};

use super::attributes::{attributes, find, find_number, push};
use super::encode::{self, Batch, Part};
use super::{harmless, send};
use crate::namespace::PrivateNamespace;

/// `NFPROTO_NETDEV`.
const NETDEV: u8 = 5;
/// `NFTA_*_TABLE` of all parts, and `NFTA_TABLE_NAME`.
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

/// A part of a ruleset: its family and its attributes as they are loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Piece {
    family: u8,
    attributes: Vec<u8>,
}

/// The rules of a network namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ruleset {
    tables: Vec<Piece>,
    chains: Vec<Piece>,
    sets: Vec<Piece>,
    objects: Vec<Piece>,
    elements: Vec<Piece>,
    rules: Vec<Piece>,
}

impl Ruleset {
    /// Those of the caller's network namespace.
    ///
    /// # Errors
    /// `EPERM` without `CAP_NET_ADMIN` there; `EPROTONOSUPPORT` where the kernel has no nftables.
    pub fn here() -> io::Result<Self> {
        let tables = list(Part::Table, 0, &[])?;
        let mut found = Self {
            tables: tables.iter().map(table).collect(),
            ..Self::default()
        };
        let is_left_out = |piece: &Piece| piece.family == NETDEV;
        found.tables.retain(|piece| !is_left_out(piece));
        found.chains = of_all(Part::Chain, chain)?;
        let chains = &found.chains;
        found.rules = of_all(Part::Rule, |piece| rule(piece, chains))?;
        found.objects = of_all(Part::Object, |piece| Some(only(piece, &[1, 2, 3, 4])))?;
        let sets = list(Part::Set, 0, &[])?;
        for (piece, id) in sets.iter().filter(|piece| !is_left_out(piece)).zip(1..) {
            found.sets.push(set(piece, id));
            found.elements.extend(elements_of(piece)?);
        }
        Ok(found)
    }

    /// How many rules there are.
    #[must_use]
    pub fn rules(&self) -> usize {
        self.rules.len()
    }

    /// Loads them, at once or not at all.
    ///
    /// # Errors
    /// The kernel's errno: `EEXIST` where a table is there already, `EMSGSIZE` where they are too
    /// many for one message.
    pub fn load(&self, _proof: PrivateNamespace) -> io::Result<()> {
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
                batch.copy(part, piece.family, &piece.attributes);
            }
        }
        send(batch)
    }

    /// Takes its tables away again with everything in them.
    ///
    /// # Errors
    /// The kernel's errno: `ENOENT` when one of them is not there.
    pub fn unload(&self, _proof: PrivateNamespace) -> io::Result<()> {
        let mut batch = Batch::new();
        for table in &self.tables {
            let name = CString::new(harmless::name(&table.attributes, TABLE))?;
            batch.delete_table(table.family, &name);
        }
        send(batch)
    }

    /// Whether a table of that name is one of these.
    #[must_use]
    pub fn has_table(&self, name: &str) -> bool {
        let mut tables = self.tables.iter();
        tables.any(|table| harmless::name(&table.attributes, TABLE) == name.as_bytes())
    }
}

/// The pieces of one kind that have something to be loaded.
fn of_all(part: Part, to_load: impl Fn(&Piece) -> Option<Piece>) -> io::Result<Vec<Piece>> {
    let mut pieces = list(part, 0, &[])?;
    pieces.retain(|piece| piece.family != NETDEV);
    Ok(pieces.iter().filter_map(to_load).collect())
}

/// What the kernel lists of a part; `which` are the attributes of the question.
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

/// The piece with some of its attributes.
fn only(piece: &Piece, kinds: &[u16]) -> Piece {
    let mut kept = Vec::with_capacity(piece.attributes.len());
    for attribute in attributes(&piece.attributes) {
        if kinds.contains(&attribute.kind) {
            push(&mut kept, attribute.kind, attribute.payload);
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
    push(&mut table.attributes, TABLE_FLAGS, &flags.to_be_bytes());
    table
}

/// With the policy to accept. `None` for one at the ingress of a device.
fn chain(piece: &Piece) -> Option<Piece> {
    const TYPE: u16 = 7;
    let hook = find(&piece.attributes, CHAIN_HOOK);
    let of_device = |hook| find(hook, HOOK_DEVICE).is_some() || find(hook, HOOK_DEVICES).is_some();
    if hook.is_some_and(of_device) {
        return None;
    }
    let mut chain = only(piece, &[TABLE, CHAIN_NAME, CHAIN_HOOK, TYPE]);
    if hook.is_some() {
        push(&mut chain.attributes, CHAIN_POLICY, &ACCEPT.to_be_bytes());
    }
    Some(chain)
}

/// `None` for one of a chain that is not there, or that needs a device.
fn rule(piece: &Piece, chains: &[Piece]) -> Option<Piece> {
    const COMPATIBILITY: u16 = 5;
    let place = |piece: &Piece, kind| {
        let table = find(&piece.attributes, TABLE).map(<[u8]>::to_vec);
        let chain = find(&piece.attributes, kind).map(<[u8]>::to_vec);
        (piece.family, table, chain)
    };
    let at = place(piece, RULE_CHAIN);
    if !chains.iter().any(|chain| place(chain, CHAIN_NAME) == at) {
        return None;
    }
    let expressions = find(&piece.attributes, RULE_EXPRESSIONS).unwrap_or_default();
    let expressions = harmless::expressions(expressions)?;
    let mut rule = only(piece, &[TABLE, RULE_CHAIN, COMPATIBILITY]);
    push(&mut rule.attributes, RULE_EXPRESSIONS, &expressions);
    Some(rule)
}

/// The sets of a batch are told apart by a number.
fn set(piece: &Piece, id: u32) -> Piece {
    const KEPT: [u16; 14] = [TABLE, SET_NAME, 3, 4, 5, 6, 7, 8, 9, 11, 12, 15, 17, 18];
    let mut set = only(piece, &KEPT);
    push(&mut set.attributes, SET_ID, &id.to_be_bytes());
    set
}

fn elements_of(set: &Piece) -> io::Result<Vec<Piece>> {
    let which = only(set, &[TABLE, SET_NAME]);
    let listed = list(Part::Elements, set.family, &which.attributes)?;
    let with_any = listed.iter().filter_map(|piece| {
        let elements = find(&piece.attributes, ELEMENTS)?;
        let mut harmless = only(piece, &[TABLE, SET_NAME]);
        push(
            &mut harmless.attributes,
            ELEMENTS,
            &harmless::elements(elements),
        );
        Some(harmless)
    });
    Ok(with_any.collect())
}
