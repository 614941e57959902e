//! What a rule of ours does with a packet, expression by expression, as the `nft` program would write
//! it.

use std::ffi::CStr;

use netlink_bindings::nftables::{
    CmpOps, CtKeys, MetaKeys, PayloadBase, PushExprListAttrs, Registers, VerdictCode,
};
use netlink_bindings::traits::Pusher;

use super::attributes::{push, push_expression};

/// `NFPROTO_IPV4`, as `meta nfproto` gives it.
const IPV4: u8 = 2;
/// `IPPROTO_TCP`, as `meta l4proto` gives it.
const TCP: u8 = 6;
/// Offset and length of the source address in the IPv4 header.
const SOURCE_AT: u32 = 12;
const ADDRESS_BYTES: u32 = 4;
/// A set of addresses of a table of ours.
pub(super) const NOBODIES: &CStr = c"nobodies";
/// The networks that are kept for documentation (RFC 5737): no packet of ours comes from there.
const NOBODYS_NETWORKS: [[u8; 3]; 3] = [[203, 0, 113], [198, 51, 100], [192, 0, 2]];
const ADDRESSES_OF_A_NETWORK: u16 = 254;

/// A rule of a chain of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// `ip saddr ADDRESS drop` with the nth address of nobody, over and over from the 762nd on: the
    /// rule compares and never matches.
    DropFromNobody(u16),
    /// `ip saddr @nobodies drop`: one look into the table's set, which never matches.
    DropFromNobodies,
    /// `ct state 0`, with nothing to do if so: it makes the kernel track connections.
    LookAtConnectionState,
    /// `meta l4proto tcp notrack`: no connection is looked up for this packet.
    DoNotTrackTcp,
}

/// The nth address that is nobody's.
pub(super) fn nobody(nth: u16) -> [u8; 4] {
    let network = usize::from(nth / ADDRESSES_OF_A_NETWORK) % NOBODYS_NETWORKS.len();
    let [a, b, c] = NOBODYS_NETWORKS[network];
    let last = nth % ADDRESSES_OF_A_NETWORK + 1;
    [a, b, c, u8::try_from(last).unwrap_or(u8::MAX)]
}

/// Writes the expressions of a rule.
pub(super) fn push_rule<P: Pusher>(expressions: PushExprListAttrs<P>, rule: Rule) {
    match rule {
        Rule::DropFromNobody(nth) => {
            drop_packet(compare(load_source(expressions), &nobody(nth)));
        }
        Rule::DropFromNobodies => {
            drop_packet(look_up(load_source(expressions)));
        }
        Rule::LookAtConnectionState => {
            look_at_connection_state(expressions);
        }
        Rule::DoNotTrackTcp => {
            let expressions = only_tcp(expressions);
            expressions.nested_elem().push_name(c"notrack").end_nested();
        }
    }
}

/// Goes on only with packets of TCP.
fn only_tcp<P: Pusher>(expressions: PushExprListAttrs<P>) -> PushExprListAttrs<P> {
    compare(load(expressions, MetaKeys::L4Proto), &[TCP])
}

/// Has the first register hold what the kernel knows of the packet.
fn load<P: Pusher>(expressions: PushExprListAttrs<P>, key: MetaKeys) -> PushExprListAttrs<P> {
    expressions
        .nested_elem()
        .nested_data_meta()
        .push_key(key as u32)
        .push_dreg(Registers::Reg1 as u32)
        .end_nested()
        .end_nested()
}

/// Goes on only with packets of IPv4, with their source address in the first register.
fn load_source<P: Pusher>(expressions: PushExprListAttrs<P>) -> PushExprListAttrs<P> {
    compare(load(expressions, MetaKeys::Nfproto), &[IPV4])
        .nested_elem()
        .nested_data_payload()
        .push_dreg(Registers::Reg1 as u32)
        .push_base(PayloadBase::NetworkHeader as u32)
        .push_offset(SOURCE_AT)
        .push_len(ADDRESS_BYTES)
        .end_nested()
        .end_nested()
}

fn drop_packet<P: Pusher>(expressions: PushExprListAttrs<P>) -> PushExprListAttrs<P> {
    expressions
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

/// Goes on with the rule only if the first register is in the table's set.
///
/// Written by hand, as the bindings number the attributes otherwise than the kernel does
/// (`enum nft_lookup_attributes`).
fn look_up<P: Pusher>(mut expressions: PushExprListAttrs<P>) -> PushExprListAttrs<P> {
    const SET: u16 = 1;
    const SOURCE_REGISTER: u16 = 2;
    let register = Registers::Reg1 as u32;
    let mut lookup = Vec::new();
    push(&mut lookup, SET, NOBODIES.to_bytes_with_nul());
    push(&mut lookup, SOURCE_REGISTER, &register.to_be_bytes());
    push_expression(expressions.as_vec_mut(), b"lookup\0", &lookup);
    expressions
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
