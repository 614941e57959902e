//! What a rule of ours does with a packet, expression by expression, as the `nft` program would write
//! it.

use netlink_bindings::nftables::{
    CmpOps, CtKeys, MetaKeys, PayloadBase, PushExprListAttrs, Registers, VerdictCode,
};
use netlink_bindings::traits::Pusher;

use super::attributes::{push, push_expression};
use super::encode::{NOBODIES, Rule, nobody};

/// `NFPROTO_IPV4`, as `meta nfproto` gives it.
const IPV4: u8 = 2;
/// `IPPROTO_TCP`, as `meta l4proto` gives it.
const TCP: u8 = 6;
/// Offset and length of the source address in the IPv4 header.
const SOURCE_AT: u32 = 12;
const ADDRESS_BYTES: u32 = 4;

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
