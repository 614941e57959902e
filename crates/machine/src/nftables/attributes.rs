//! Attributes of nftables as bytes. They are found and assembled here without knowing what they
//! mean.

use sys::netlink::attributes;

pub(super) use crate::links::within as find;
pub(super) use crate::rtnetlink::push_bytes as push;

/// `NFTA_LIST_ELEM`: one of many of the same kind.
pub(super) const LIST_ELEMENT: u16 = 1;
/// `NFTA_EXPR_NAME` and `NFTA_EXPR_DATA`.
pub(super) const EXPRESSION_NAME: u16 = 1;
pub(super) const EXPRESSION_DATA: u16 = 2;

/// Returns the number that the first attribute of a type holds; it is stored in network byte order.
pub(super) fn find_number(bytes: &[u8], kind: u16) -> Option<u32> {
    let payload = find(bytes, kind)?.try_into().ok()?;
    Some(u32::from_be_bytes(payload))
}

/// Returns a name without its zero byte; empty if there is none.
pub(super) fn name(bytes: &[u8], kind: u16) -> &[u8] {
    let name = find(bytes, kind).unwrap_or_default();
    name.strip_suffix(b"\0").unwrap_or(name)
}

/// Builds attributes of these types with these numbers.
pub(super) fn numbers(parts: &[(u16, u32)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (kind, number) in parts {
        push(&mut bytes, *kind, &number.to_be_bytes());
    }
    bytes
}

/// Builds one attribute.
pub(super) fn one(kind: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    push(&mut bytes, kind, payload);
    bytes
}

/// Writes an expression of a rule: its name, which ends with a zero byte, and its data.
pub(super) fn push_expression(bytes: &mut Vec<u8>, name: &[u8], data: &[u8]) {
    let mut expression = one(EXPRESSION_NAME, name);
    push(&mut expression, EXPRESSION_DATA, data);
    push(bytes, LIST_ELEMENT, &expression);
}

/// Copies the attributes. An attribute for which `other` returns a payload gets that payload.
pub(super) fn rewritten(bytes: &[u8], other: impl Fn(u16, &[u8]) -> Option<Vec<u8>>) -> Vec<u8> {
    let mut written = Vec::with_capacity(bytes.len());
    for (kind, payload) in attributes(bytes) {
        let other = other(kind, payload);
        push(&mut written, kind, other.as_deref().unwrap_or(payload));
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_found_and_only_what_is_to_be_another_is_written_otherwise() {
        let bytes = [one(1, b"filter\0"), numbers(&[(5, 7)])].concat();
        assert_eq!(
            (name(&bytes, 1), find_number(&bytes, 5)),
            (&b"filter"[..], Some(7))
        );
        assert_eq!(find(&bytes, 2), None);
        let written = rewritten(&bytes, |kind, _| (kind == 5).then(|| vec![9]));
        assert_eq!(
            (name(&written, 1), find(&written, 5)),
            (&b"filter"[..], Some(&[9][..]))
        );
    }
}
