//! Attributes of nftables as bytes: taken apart and put together without knowing what they mean
//! (`struct nlattr` of linux/netlink.h).

/// Length of the header: two bytes of length, two of type.
const HEADER_BYTES: usize = 4;
/// `NLA_ALIGNTO`.
const ALIGNED_TO: usize = 4;
/// The bits of a type beside `NLA_F_NESTED` and `NLA_F_NET_BYTEORDER`.
const TYPE_BITS: u16 = 0x3fff;

/// `NFTA_LIST_ELEM`: one of many of the same kind.
pub(super) const LIST_ELEMENT: u16 = 1;
/// `NFTA_EXPR_NAME` and `NFTA_EXPR_DATA`.
pub(super) const EXPRESSION_NAME: u16 = 1;
pub(super) const EXPRESSION_DATA: u16 = 2;

/// One attribute: its type without flags, and what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Attribute<'a> {
    pub(super) kind: u16,
    pub(super) payload: &'a [u8],
}

/// The attributes in some bytes, up to the first that is cut short.
pub(super) fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = Attribute<'_>> {
    std::iter::from_fn(move || {
        let (header, _) = bytes.split_first_chunk::<HEADER_BYTES>()?;
        let [length_low, length_high, kind_low, kind_high] = *header;
        let length = usize::from(u16::from_ne_bytes([length_low, length_high]));
        let payload = bytes.get(HEADER_BYTES..length)?;
        bytes = bytes
            .get(length.next_multiple_of(ALIGNED_TO)..)
            .unwrap_or_default();
        let kind = u16::from_ne_bytes([kind_low, kind_high]) & TYPE_BITS;
        Some(Attribute { kind, payload })
    })
}

/// What the first attribute of a type holds.
pub(super) fn find(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes)
        .find(|attribute| attribute.kind == kind)
        .map(|attribute| attribute.payload)
}

/// The number in network byte order that the first attribute of a type holds.
pub(super) fn find_number(bytes: &[u8], kind: u16) -> Option<u32> {
    let payload = find(bytes, kind)?.try_into().ok()?;
    Some(u32::from_be_bytes(payload))
}

/// A name without its zero byte.
pub(super) fn name(bytes: &[u8], kind: u16) -> &[u8] {
    let name = find(bytes, kind).unwrap_or_default();
    name.strip_suffix(b"\0").unwrap_or(name)
}

/// Writes one attribute.
///
/// # Panics
/// When it is 64 KiB long, which no kernel lists.
pub(super) fn push(bytes: &mut Vec<u8>, kind: u16, payload: &[u8]) {
    let length = u16::try_from(HEADER_BYTES + payload.len()).expect("it came in such an attribute");
    bytes.extend(length.to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(payload);
    bytes.resize(bytes.len().next_multiple_of(ALIGNED_TO), 0);
}

/// Writes an expression of a rule: its name with a zero byte, and what it is asked to do.
pub(super) fn push_expression(bytes: &mut Vec<u8>, name: &[u8], data: &[u8]) {
    let mut expression = Vec::new();
    push(&mut expression, EXPRESSION_NAME, name);
    push(&mut expression, EXPRESSION_DATA, data);
    push(bytes, LIST_ELEMENT, &expression);
}

/// The attributes again, each that `other` has another payload for with that.
pub(super) fn rewritten(bytes: &[u8], other: impl Fn(Attribute<'_>) -> Option<Vec<u8>>) -> Vec<u8> {
    let mut written = Vec::with_capacity(bytes.len());
    for attribute in attributes(bytes) {
        match other(attribute) {
            Some(payload) => push(&mut written, attribute.kind, &payload),
            None => push(&mut written, attribute.kind, attribute.payload),
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> Vec<u8> {
        let mut bytes = Vec::new();
        push(&mut bytes, 1, b"filter\0");
        push(&mut bytes, 5, &7_u32.to_be_bytes());
        bytes
    }

    #[test]
    fn what_was_written_is_found_by_its_type() {
        let bytes = two();
        assert_eq!(bytes.len() % ALIGNED_TO, 0);
        assert_eq!(find(&bytes, 1), Some(&b"filter\0"[..]));
        assert_eq!(find_number(&bytes, 5), Some(7));
        assert_eq!(find(&bytes, 2), None);
    }

    #[test]
    fn one_that_is_cut_short_ends_them_and_flags_are_no_part_of_a_type() {
        let mut bytes = two();
        bytes.pop();
        assert_eq!(attributes(&bytes).count(), 1);
        bytes[3] |= 0x80;
        assert_eq!(find(&bytes, 1), Some(&b"filter\0"[..]));
        assert_eq!(attributes(&[0; 8]).count(), 0, "a length below its header");
    }

    #[test]
    fn only_what_is_to_be_another_is_written_otherwise() {
        let other = |attribute: Attribute<'_>| (attribute.kind == 5).then(|| vec![9]);
        let written = rewritten(&two(), other);
        assert_eq!(find(&written, 1), Some(&b"filter\0"[..]));
        assert_eq!(find(&written, 5), Some(&[9][..]));
    }
}
