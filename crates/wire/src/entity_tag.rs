//! Entity tags in `If-Match`, `If-None-Match` and `If-Range` (RFC 9110 §8.8.3).

/// How two tags are compared (RFC 9110 §8.8.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// A weak tag, `W/"…"`, equals no tag.
    Strong,
    /// A tag equals its weak form.
    Weak,
}

/// Whether `value`, a list of tags or `*`, has a tag that equals `tag`, which has its quotes, and
/// `W/` before them if it is weak. In a malformed list only the tags before the fault count.
pub fn matches(value: &[u8], tag: &[u8], comparison: Comparison) -> bool {
    if value == b"*" {
        return true;
    }
    let (tag, tag_is_weak) = without_mark(tag);
    let mut rest = value;
    while let Some((listed, is_weak, after)) = next(rest) {
        let is_too_weak = (is_weak || tag_is_weak) && comparison == Comparison::Strong;
        if listed == tag && !is_too_weak {
            return true;
        }
        rest = after;
    }
    false
}

/// The first tag of a list with its quotes, whether it is weak, and the rest of the list. A comma
/// may stand in a tag, so the list cannot be cut at its commas.
fn next(list: &[u8]) -> Option<(&[u8], bool, &[u8])> {
    let begin = list
        .iter()
        .position(|byte| !matches!(byte, b' ' | b'\t' | b','))?;
    let (tag, is_weak) = without_mark(&list[begin..]);
    let inside = tag.strip_prefix(b"\"")?;
    let (listed, after) = tag.split_at(memchr::memchr(b'"', inside)? + 2);
    Some((listed, is_weak, after))
}

/// Removes the mark of a weak tag; returns also whether there was one.
fn without_mark(tag: &[u8]) -> (&[u8], bool) {
    tag.strip_prefix(b"W/")
        .map_or((tag, false), |tag| (tag, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAG: &[u8] = b"\"1-a\"";

    #[test]
    fn a_tag_is_found_in_a_list_and_its_weak_form_only_by_the_weak_comparison() {
        for (value, weak, strong) in [
            ("\"1-a\"", true, true),
            ("*", true, true),
            ("\"x\", \"1-a\"", true, true),
            ("\"x,\",\"1-a\"", true, true),
            ("W/\"1-a\"", true, false),
            ("W/\"x\",,\tW/\"1-a\"", true, false),
            ("\"x\"", false, false),
            ("1-a", false, false),
            ("\"1-a", false, false),
            ("w/\"1-a\"", false, false),
            ("x, \"1-a\"", false, false),
            ("", false, false),
        ] {
            let found = |comparison| matches(value.as_bytes(), TAG, comparison);
            let both = (found(Comparison::Weak), found(Comparison::Strong));
            assert_eq!(both, (weak, strong), "{value}");
            let weak_tag = [b"W/", TAG].concat();
            let found = |comparison| matches(value.as_bytes(), &weak_tag, comparison);
            let both = (found(Comparison::Weak), found(Comparison::Strong));
            assert_eq!(both, (weak, value == "*"), "{value}");
        }
    }
}
