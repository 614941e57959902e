//! The protocol of an `iptables-nft` rule. Its extensions require it, but the kernel lists it only
//! as a value that the rule compares.

use sys::netlink::attributes;

use super::attributes::{EXPRESSION_DATA, EXPRESSION_NAME, find, find_number, name, numbers};

const META_KEY: u16 = 2;
/// `NFT_META_L4PROTO`.
const L4_PROTOCOL: u32 = 16;
const COMPARE_HOW: u16 = 2;
/// `NFT_CMP_NEQ`.
const NOT_EQUAL: u32 = 1;
const COMPARE_DATA: u16 = 3;
const DATA_VALUE: u16 = 1;
/// `NFTA_RULE_COMPAT_PROTO` and `NFTA_RULE_COMPAT_FLAGS`.
const PROTOCOL: u16 = 1;
const FLAGS: u16 = 2;
/// `NFT_RULE_COMPAT_F_INV`.
const INVERTED: u32 = 2;

/// Returns what `NFTA_RULE_COMPAT` must hold; `None` if the rule has no iptables extension, or is
/// for all protocols.
pub(super) fn of(expressions: &[u8]) -> Option<Vec<u8>> {
    let mut elements = attributes(expressions).map(|(_, element)| element);
    if !elements.any(|element| matches!(name(element, EXPRESSION_NAME), b"match" | b"target")) {
        return None;
    }
    let mut elements = attributes(expressions).map(|(_, element)| element);
    elements.find(|element| loads_protocol(element))?;
    let compare = elements.next()?;
    if name(compare, EXPRESSION_NAME) != b"cmp" {
        return None;
    }
    let compare = find(compare, EXPRESSION_DATA)?;
    let protocol = *find(find(compare, COMPARE_DATA)?, DATA_VALUE)?.first()?;
    let is_inverted = find_number(compare, COMPARE_HOW) == Some(NOT_EQUAL);
    let flags = if is_inverted { INVERTED } else { 0 };
    Some(numbers(&[(PROTOCOL, protocol.into()), (FLAGS, flags)]))
}

fn loads_protocol(expression: &[u8]) -> bool {
    let data = find(expression, EXPRESSION_DATA).unwrap_or_default();
    name(expression, EXPRESSION_NAME) == b"meta" && find_number(data, META_KEY) == Some(L4_PROTOCOL)
}

#[cfg(test)]
mod tests {
    use super::super::attributes::{one, push, push_expression};
    use super::*;

    /// `-p PROTOCOL`, or `! -p PROTOCOL`.
    fn compared(how: u32, protocol: u8) -> Vec<u8> {
        let mut expressions = Vec::new();
        let meta = numbers(&[(META_KEY, L4_PROTOCOL)]);
        push_expression(&mut expressions, b"meta\0", &meta);
        let mut compare = numbers(&[(COMPARE_HOW, how)]);
        push(&mut compare, COMPARE_DATA, &one(DATA_VALUE, &[protocol]));
        push_expression(&mut expressions, b"cmp\0", &compare);
        expressions
    }

    #[test]
    fn an_extension_is_told_the_protocol_that_its_rule_compares() {
        for (how, flags) in [(0, 0), (NOT_EQUAL, INVERTED)] {
            let mut rule = compared(how, 6);
            assert_eq!(of(&rule), None, "no extension asks");
            push_expression(&mut rule, b"match\0", &[]);
            let wanted = of(&rule).unwrap();
            assert_eq!(find_number(&wanted, PROTOCOL), Some(6));
            assert_eq!(find_number(&wanted, FLAGS), Some(flags));
        }
        let mut of_all = Vec::new();
        push_expression(&mut of_all, b"match\0", &[]);
        assert_eq!(of(&of_all), None);
    }
}
