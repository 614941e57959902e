//! Changes rules so that no packet ends in them and they can be loaded. They then cost as much as
//! before, and drop nothing. The numbers are those of linux/netfilter/nf_tables.h.

use sys::netlink::attributes;

use super::attributes::{
    EXPRESSION_DATA, EXPRESSION_NAME, LIST_ELEMENT, find, find_number, name, numbers, one, push,
    push_expression, rewritten,
};

const IMMEDIATE_REGISTER: u16 = 1;
const IMMEDIATE_DATA: u16 = 2;
const ELEMENT_DATA: u16 = 2;
const DATA_VERDICT: u16 = 2;
const VERDICT_CODE: u16 = 1;
const VERDICT_REGISTER: u32 = 0;
const TARGET_NAME: u16 = 1;
const OBJECT_TYPE: u16 = 1;
/// `NFT_OBJECT_QUOTA` and `NFT_OBJECT_SYNPROXY`.
const QUOTA: u32 = 2;
const SYNPROXY: u32 = 10;
const QUOTA_FLAGS: u16 = 2;
/// `NFT_QUOTA_F_INV`.
const QUOTA_INVERTED: u32 = 1;
/// `NF_ACCEPT`: the packet leaves this chain and goes on.
const ACCEPT: u32 = 1;
/// `NF_DROP` and `NF_QUEUE`. Their higher bytes hold an errno and the number of a queue.
const ENDS: [u32; 2] = [0, 3];
const VERDICT_BYTE: u32 = 0xff;

/// The expressions of a rule, changed so that none ends a packet, and without those that hand it to
/// a flow table.
pub(super) fn expressions(expressions: &[u8]) -> Vec<u8> {
    let mut written = Vec::with_capacity(expressions.len());
    for (_, element) in attributes(expressions) {
        let name = name(element, EXPRESSION_NAME);
        let data = find(element, EXPRESSION_DATA).unwrap_or_default();
        match name {
            b"flow_offload" => {}
            b"reject" | b"queue" | b"synproxy" => push_accept(&mut written),
            b"objref" if find_number(data, OBJECT_TYPE) == Some(SYNPROXY) => {
                push_accept(&mut written);
            }
            b"quota" => push_expression(&mut written, b"quota\0", &quota(data)),
            b"target" if ends_packets(data) => push_accept(&mut written),
            b"immediate" => push(&mut written, LIST_ELEMENT, &immediate(element)),
            _ => push(&mut written, LIST_ELEMENT, element),
        }
    }
    written
}

/// A named object in a form that can be loaded; `kind` is its type.
pub(super) fn object(kind: u32, data: &[u8]) -> Vec<u8> {
    match kind {
        QUOTA => quota(data),
        _ => data.to_vec(),
    }
}

/// A quota without the flag with which the kernel lists a used-up one: it would not accept that
/// flag (`nft_quota_do_init` in net/netfilter/nft_quota.c). The quota's count says the same.
fn quota(data: &[u8]) -> Vec<u8> {
    rewritten(data, |kind, _| {
        let flags = find_number(data, kind)?;
        (kind == QUOTA_FLAGS).then(|| (flags & QUOTA_INVERTED).to_be_bytes().to_vec())
    })
}

/// The elements of a map, changed so that no verdict ends a packet.
pub(super) fn elements(elements: &[u8]) -> Vec<u8> {
    let element = |kind, part: &[u8]| (kind == ELEMENT_DATA).then(|| data(part));
    rewritten(elements, |_, payload| Some(rewritten(payload, element)))
}

fn immediate(expression: &[u8]) -> Vec<u8> {
    let of_immediate = |kind, part: &[u8]| (kind == IMMEDIATE_DATA).then(|| data(part));
    rewritten(expression, |kind, part| {
        (kind == EXPRESSION_DATA).then(|| rewritten(part, of_immediate))
    })
}

/// Keeps a value. Replaces a verdict that ends a packet by one that lets it go on.
fn data(data: &[u8]) -> Vec<u8> {
    rewritten(data, |kind, verdict| {
        let code = find_number(verdict, VERDICT_CODE);
        (kind == DATA_VERDICT && code.is_some_and(is_end)).then(accept)
    })
}

fn is_end(code: u32) -> bool {
    // The verdicts of nftables itself, such as a jump, are negative.
    code.cast_signed() >= 0 && ENDS.contains(&(code & VERDICT_BYTE))
}

fn accept() -> Vec<u8> {
    numbers(&[(VERDICT_CODE, ACCEPT)])
}

fn push_accept(expressions: &mut Vec<u8>) {
    let mut immediate = numbers(&[(IMMEDIATE_REGISTER, VERDICT_REGISTER)]);
    push(
        &mut immediate,
        IMMEDIATE_DATA,
        &one(DATA_VERDICT, &accept()),
    );
    push_expression(expressions, b"immediate\0", &immediate);
}

/// Whether a target of iptables ends packets or hands them to a program.
fn ends_packets(target: &[u8]) -> bool {
    matches!(
        name(target, TARGET_NAME),
        b"REJECT" | b"NFQUEUE" | b"SYNPROXY"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(code: i32) -> Vec<u8> {
        one(DATA_VERDICT, &one(VERDICT_CODE, &code.to_be_bytes()))
    }

    fn expression(name: &[u8], data: &[u8]) -> Vec<u8> {
        let mut expression = Vec::new();
        push_expression(&mut expression, name, data);
        expression
    }

    fn immediate_of(code: i32) -> Vec<u8> {
        let mut data = one(IMMEDIATE_REGISTER, &VERDICT_REGISTER.to_be_bytes());
        push(&mut data, IMMEDIATE_DATA, &verdict(code));
        expression(b"immediate\0", &data)
    }

    #[test]
    fn what_ends_a_packet_lets_it_go_and_all_else_stays() {
        let accepted = immediate_of(1);
        // Drop, drop with an errno, queue 2 of user space.
        for code in [0, 1 << 16, 3 | 2 << 16] {
            assert_eq!(expressions(&immediate_of(code)), accepted);
        }
        // Accept, continue, jump, goto, return.
        for code in [1, -1, -3, -4, -5] {
            let kept = immediate_of(code);
            assert_eq!(expressions(&kept), kept, "{code}");
        }
        for name in [&b"reject\0"[..], b"queue\0", b"synproxy\0"] {
            assert_eq!(expressions(&expression(name, &[])), accepted);
        }
        let synproxy = one(OBJECT_TYPE, &SYNPROXY.to_be_bytes());
        assert_eq!(expressions(&expression(b"objref\0", &synproxy)), accepted);
        let target = one(TARGET_NAME, b"REJECT\0");
        assert_eq!(expressions(&expression(b"target\0", &target)), accepted);
        let other = expression(b"target\0", &one(TARGET_NAME, b"LOG\0"));
        assert_eq!(expressions(&other), other);
        assert_eq!(
            expressions(&expression(b"flow_offload\0", &[])),
            Vec::<u8>::new()
        );
    }

    #[test]
    fn a_map_to_verdicts_keeps_its_keys_and_jumps_and_drops_nothing() {
        let element = |code| {
            let mut element = one(1, b"key");
            push(&mut element, ELEMENT_DATA, &verdict(code));
            one(LIST_ELEMENT, &element)
        };
        let map = [element(0), element(-3)].concat();
        assert_eq!(elements(&map), [element(1), element(-3)].concat());
    }
}
