//! The nftables messages that we send, written down; nothing here talks to the kernel.

use std::ffi::CStr;

use netlink_bindings::nftables::{
    CmpOps, CtKeys, MetaKeys, Nfgenmsg, OpBatchBeginDo, OpDeltableDo, OpGetruleDump, OpNewchainDo,
    OpNewruleDo, OpNewtableDo, PayloadBase, PushExprListAttrs, Registers, VerdictCode,
};
use netlink_bindings::traits::Pusher;
use sys::netlink::push_message;

/// `NFNL_SUBSYS_NFTABLES`: the upper half of each message's type.
const SUBSYSTEM: u16 = 10;
/// Within the subsystem, from linux/netfilter/nf_tables.h.
const NEW_TABLE: u16 = SUBSYSTEM << 8;
const DELETE_TABLE: u16 = (SUBSYSTEM << 8) | 2;
const NEW_CHAIN: u16 = (SUBSYSTEM << 8) | 3;
const NEW_RULE: u16 = (SUBSYSTEM << 8) | 6;
const GET_RULE: u16 = (SUBSYSTEM << 8) | 7;
/// The type of the messages that list rules.
pub(super) const LISTED_RULE: u16 = NEW_RULE;
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
/// `NFPROTO_INET`: one table for both IP versions.
const INET: u8 = 1;
/// `NF_INET_LOCAL_IN`: packets for this host.
const HOOK_INPUT: u32 = 1;
/// `NF_IP_PRI_FILTER`: where firewalls put their chains.
const PRIORITY_FILTER: i32 = 0;
const CHAIN: &CStr = c"input";
/// `NFPROTO_IPV4`, as `meta nfproto` gives it.
const IPV4: u8 = 2;
/// Offset and length of the source address in the IPv4 header.
const SOURCE_AT: u32 = 12;
const ADDRESS_BYTES: u32 = 4;

/// A rule for the input hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// `ip saddr 203.0.113.N drop`. The addresses are kept for documentation (RFC 5737), so no
    /// packet on a loopback has one: the rule compares and never matches.
    DropFromNobody(u8),
    /// `ct state 0`, with nothing to do if so: it makes the kernel track connections.
    LookAtConnectionState,
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
        self.push(NEW_TABLE, CREATE | EXCLUSIVE, |payload| {
            OpNewtableDo::encode_request(payload, &header(INET)).push_name(name);
        });
    }

    pub(super) fn delete_table(&mut self, name: &CStr) {
        self.push(DELETE_TABLE, 0, |payload| {
            OpDeltableDo::encode_request(payload, &header(INET)).push_name(name);
        });
    }

    pub(super) fn new_input_chain(&mut self, table: &CStr) {
        self.push(NEW_CHAIN, CREATE, |payload| {
            OpNewchainDo::encode_request(payload, &header(INET))
                .push_table(table)
                .push_name(CHAIN)
                .nested_hook()
                .push_num(HOOK_INPUT)
                .push_priority(PRIORITY_FILTER)
                .end_nested()
                .push_type(c"filter");
        });
    }

    pub(super) fn new_rule(&mut self, table: &CStr, rule: Rule) {
        self.push(NEW_RULE, CREATE | APPEND, |payload| {
            let expressions = OpNewruleDo::encode_request(payload, &header(INET))
                .push_table(table)
                .push_chain(CHAIN)
                .nested_expressions();
            match rule {
                Rule::DropFromNobody(last_byte) => drop_from(expressions, [203, 0, 113, last_byte]),
                Rule::LookAtConnectionState => look_at_connection_state(expressions),
            };
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

/// The question for all rules of all families, and its sequence number.
pub(super) fn list_rules() -> (Vec<u8>, u32) {
    let mut request = Vec::new();
    push_message(&mut request, GET_RULE, REQUEST | DUMP, 1, |payload| {
        OpGetruleDump::encode_request(payload, &header(0));
    });
    (request, 1)
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

/// `meta nfproto ipv4 ip saddr ADDRESS drop`, as the `nft` program would write it.
fn drop_from<P: Pusher>(
    expressions: PushExprListAttrs<P>,
    address: [u8; 4],
) -> PushExprListAttrs<P> {
    let register = Registers::Reg1 as u32;
    let expressions = expressions
        .nested_elem()
        .nested_data_meta()
        .push_key(MetaKeys::Nfproto as u32)
        .push_dreg(register)
        .end_nested()
        .end_nested();
    let expressions = compare(expressions, &[IPV4])
        .nested_elem()
        .nested_data_payload()
        .push_dreg(register)
        .push_base(PayloadBase::NetworkHeader as u32)
        .push_offset(SOURCE_AT)
        .push_len(ADDRESS_BYTES)
        .end_nested()
        .end_nested();
    compare(expressions, &address)
        .nested_elem()
        .nested_data_immediate()
        .push_dreg(Registers::RegVerdict as u32)
        .nested_data()
        .nested_verdict()
        .push_code(VerdictCode::Drop as u32)
        .end_nested()
        .end_nested()
        .end_nested()
        .end_nested()
}

fn look_at_connection_state<P: Pusher>(expressions: PushExprListAttrs<P>) -> PushExprListAttrs<P> {
    let expressions = expressions
        .nested_elem()
        .nested_data_ct()
        .push_key(CtKeys::State as u32)
        .push_dreg(Registers::Reg1 as u32)
        .end_nested()
        .end_nested();
    compare(expressions, &0_u32.to_ne_bytes())
}

/// Goes on with the rule only if the first register holds `value`.
fn compare<P: Pusher>(expressions: PushExprListAttrs<P>, value: &[u8]) -> PushExprListAttrs<P> {
    expressions
        .nested_elem()
        .nested_data_cmp()
        .push_sreg(Registers::Reg1 as u32)
        .push_op(CmpOps::Eq as u32)
        .nested_data()
        .push_value(value)
        .end_nested()
        .end_nested()
        .end_nested()
}
