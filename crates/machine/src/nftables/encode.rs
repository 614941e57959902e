//! The nftables messages that we send, written down; nothing here talks to the kernel.

use std::ffi::CStr;

use netlink_bindings::nftables::{
    Nfgenmsg, OpBatchBeginDo, OpDeltableDo, OpNewchainDo, OpNewruleDo, OpNewsetDo, OpNewsetelemDo,
    OpNewtableDo,
};
use sys::netlink::{Message, push_message};

use super::expressions::{NOBODIES, Rule, nobody, push_rule};

/// `NFNL_SUBSYS_NFTABLES`: the upper half of each message's type.
const SUBSYSTEM: u16 = 10;
/// Within the subsystem, from linux/netfilter/nf_tables.h.
const DELETE_TABLE: u16 = (SUBSYSTEM << 8) | 2;
/// The type of the messages that list rules.
pub(super) const LISTED_RULE: u16 = Part::Rule.added();
/// `NFNL_MSG_BATCH_BEGIN` and `_END`: what lies between them happens as one or not at all.
const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;
/// Flags of the netlink header, from linux/netlink.h.
const REQUEST: u16 = 0x1;
const ACKNOWLEDGE: u16 = 0x4;
const EXCLUSIVE: u16 = 0x200;
const DUMP: u16 = 0x300;
const CREATE: u16 = 0x400;
const APPEND: u16 = 0x800;
/// Length of `struct nfgenmsg`.
const HEADER_BYTES: usize = 4;
/// `NFPROTO_INET`: one table for both IP versions.
pub(super) const INET: u8 = 1;
/// What the `nft` program calls `ipv4_addr`; the kernel only keeps it.
const TYPE_IPV4_ADDRESS: u32 = 7;
const ADDRESS_BYTES: u32 = 4;

/// What a ruleset is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Table = 0,
    Chain = 3,
    Rule = 6,
    Set = 9,
    Elements = 12,
    Generation = 15,
    Object = 18,
}

impl Part {
    /// The type of the messages that add one, and that list those there are.
    const fn added(self) -> u16 {
        (SUBSYSTEM << 8) | self as u16
    }

    /// The type of the messages that ask for them.
    const fn get(self) -> u16 {
        self.added() + 1
    }
}

/// Where a chain of ours is crossed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// By packets for this host, where firewalls filter.
    Input,
    /// By packets that came in, before their connection is looked up.
    RawPrerouting,
    /// By packets that this host sends, before their connection is looked up.
    RawOutput,
}

impl Hook {
    /// Name of the chain, number of the hook and priority, from linux/netfilter.h and
    /// linux/netfilter_ipv4.h (`NF_IP_PRI_FILTER`, `NF_IP_PRI_RAW`).
    fn place(self) -> (&'static CStr, u32, i32) {
        match self {
            Self::Input => (c"input", 1, 0),
            Self::RawPrerouting => (c"prerouting", 0, -300),
            Self::RawOutput => (c"output", 3, -300),
        }
    }
}

/// Messages that take hold together.
pub(super) struct Batch {
    datagram: Vec<u8>,
    sequence: u32,
    last_start: usize,
}

impl Batch {
    pub(super) fn new() -> Self {
        let mut batch = Self {
            datagram: Vec::new(),
            sequence: 0,
            last_start: 0,
        };
        batch.push(BATCH_BEGIN, 0, encode_subsystem);
        batch
    }

    pub(super) fn new_table(&mut self, name: &CStr) {
        self.push(Part::Table.added(), CREATE | EXCLUSIVE, |payload| {
            OpNewtableDo::encode_request(payload, &header(INET)).push_name(name);
        });
    }

    pub(super) fn delete_table(&mut self, family: u8, name: &CStr) {
        self.push(DELETE_TABLE, 0, |payload| {
            OpDeltableDo::encode_request(payload, &header(family)).push_name(name);
        });
    }

    /// A part with attributes that the kernel has listed.
    pub(super) fn copy(&mut self, part: Part, family: u8, attributes: &[u8]) {
        let flags = match part {
            Part::Table => CREATE | EXCLUSIVE,
            Part::Rule => CREATE | APPEND,
            _ => CREATE,
        };
        self.push(part.added(), flags, |payload| {
            payload.extend(header_bytes(family));
            payload.extend(attributes);
        });
    }

    pub(super) fn new_chain(&mut self, table: &CStr, hook: Hook) {
        let (name, number, priority) = hook.place();
        self.push(Part::Chain.added(), CREATE, |payload| {
            OpNewchainDo::encode_request(payload, &header(INET))
                .push_table(table)
                .push_name(name)
                .nested_hook()
                .push_num(number)
                .push_priority(priority)
                .end_nested()
                .push_type(c"filter");
        });
    }

    pub(super) fn new_rule(&mut self, table: &CStr, hook: Hook, rule: Rule) {
        let (chain, ..) = hook.place();
        self.push(Part::Rule.added(), CREATE | APPEND, |payload| {
            let expressions = OpNewruleDo::encode_request(payload, &header(INET))
                .push_table(table)
                .push_chain(chain)
                .nested_expressions();
            push_rule(expressions, rule);
        });
    }

    /// A set of the first so many addresses of nobody.
    pub(super) fn new_nobodies(&mut self, table: &CStr, addresses: u16) {
        self.push(Part::Set.added(), CREATE, |payload| {
            OpNewsetDo::encode_request(payload, &header(INET))
                .push_table(table)
                .push_name(NOBODIES)
                .push_key_type(TYPE_IPV4_ADDRESS)
                .push_key_len(ADDRESS_BYTES)
                .push_id(1);
        });
        self.push(Part::Elements.added(), CREATE, |payload| {
            let list = OpNewsetelemDo::encode_request(payload, &header(INET))
                .push_table(table)
                .push_set(NOBODIES)
                .nested_elements();
            (0..addresses).fold(list, |list, nth| {
                list.nested_elem()
                    .nested_key()
                    .push_value(&nobody(nth))
                    .end_nested()
                    .end_nested()
            });
        });
    }

    /// The finished datagram, and the sequence number whose acknowledgement ends the answer.
    ///
    /// Only the last message asks for one: errors are told of any, in the order of the messages,
    /// and before Linux 6.10 the end of a batch could not be acknowledged itself.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the flag is in the low byte"
    )]
    pub(super) fn close(mut self) -> (Vec<u8>, u32) {
        let last = self.sequence;
        self.datagram[self.last_start + 6] |= ACKNOWLEDGE as u8;
        self.push(BATCH_END, 0, encode_subsystem);
        (self.datagram, last)
    }

    fn push(&mut self, kind: u16, flags: u16, fill: impl FnOnce(&mut Vec<u8>)) {
        self.sequence += 1;
        self.last_start = self.datagram.len();
        push_message(
            &mut self.datagram,
            kind,
            REQUEST | flags,
            self.sequence,
            fill,
        );
    }
}

/// The question for what there is of a part, and its sequence number. The family 0 is all of them;
/// `which` are the attributes that the question has.
pub(super) fn list(part: Part, family: u8, which: &[u8]) -> (Vec<u8>, u32) {
    let mut request = Vec::new();
    push_message(&mut request, part.get(), REQUEST | DUMP, 1, |payload| {
        payload.extend(header_bytes(family));
        payload.extend(which);
    });
    (request, 1)
}

/// The question for the number of the last change, and its sequence number.
pub(super) fn ask_generation() -> (Vec<u8>, u32) {
    let mut request = Vec::new();
    let get = Part::Generation.get();
    push_message(&mut request, get, REQUEST | ACKNOWLEDGE, 1, |payload| {
        payload.extend(header_bytes(0));
    });
    (request, 1)
}

/// The family and the attributes of a message that lists a part.
pub(super) fn listed<'a>(part: Part, message: &Message<'a>) -> Option<(u8, &'a [u8])> {
    let (header, attributes) = message.payload.split_at_checked(HEADER_BYTES)?;
    (message.kind == part.added()).then_some((header[0], attributes))
}

/// `struct nfgenmsg`: the family, and a version and a number that are 0.
fn header_bytes(family: u8) -> [u8; HEADER_BYTES] {
    [family, 0, 0, 0]
}

fn header(family: u8) -> Nfgenmsg {
    Nfgenmsg {
        nfgen_family: family,
        ..Nfgenmsg::default()
    }
}

/// A batch names the subsystem that it is for.
fn encode_subsystem(payload: &mut Vec<u8>) {
    let mut header = header(0);
    header.set_res_id(SUBSYSTEM);
    OpBatchBeginDo::encode_request(payload, &header);
}
