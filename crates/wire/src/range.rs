//! Which part of a file a `Range` field asks for (RFC 9110 §14).

/// The part of a representation that is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    Whole,
    /// `bytes` bytes from `first` on, at least one; both within the length.
    Part {
        first: u64,
        bytes: u64,
    },
    /// A range that lies wholly behind the end.
    Unsatisfiable,
}

/// Reads `bytes=FIRST-LAST`, `bytes=FIRST-` or `bytes=-LAST_BYTES` for a length in bytes. A field
/// that is malformed, of another unit, or with several ranges selects the whole, as a server may
/// ignore any range (RFC 9110 §14.2).
pub fn select(value: &[u8], length: u64) -> Selection {
    one_range(value).map_or(Selection::Whole, |(first, last)| place(first, last, length))
}

/// The numbers before and after the hyphen; at least one is there.
fn one_range(value: &[u8]) -> Option<(Option<u64>, Option<u64>)> {
    let (unit, set) = value.split_at_checked(b"bytes=".len())?;
    let range = unit.eq_ignore_ascii_case(b"bytes=").then_some(set)?;
    let hyphen = memchr::memchr(b'-', range)?;
    let first = number(&range[..hyphen])?;
    let last = number(&range[hyphen + 1..])?;
    let is_valid = match (first, last) {
        (Some(first), Some(last)) => first <= last,
        (None, None) => false,
        _ => true,
    };
    is_valid.then_some((first, last))
}

fn place(first: Option<u64>, last: Option<u64>, length: u64) -> Selection {
    let (first, end) = match (first, last) {
        (Some(first), last) => (first, last.map_or(length, |last| last.saturating_add(1))),
        // The last bytes of an empty file are none, which no part can express (RFC 9110 §14.1.2).
        (None, Some(1..)) if length == 0 => return Selection::Whole,
        (None, last_bytes) => (length.saturating_sub(last_bytes.unwrap_or(0)), length),
    };
    match end.min(length).checked_sub(first) {
        Some(bytes @ 1..) => Selection::Part { first, bytes },
        _ => Selection::Unsatisfiable,
    }
}

/// Reads a number: `None` for what is no number, `Some(None)` for no digits at all. A number too
/// large for its type becomes the largest, which is behind the end of every file too.
#[expect(
    clippy::option_option,
    reason = "to be absent and to be wrong are different things here"
)]
fn number(digits: &[u8]) -> Option<Option<u64>> {
    if digits.is_empty() {
        return Some(None);
    }
    let add = |sum: u64, digit: &u8| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        Some(sum.saturating_mul(10).saturating_add(digit))
    };
    digits.iter().try_fold(0, add).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(first: u64, bytes: u64) -> Selection {
        Selection::Part { first, bytes }
    }

    #[test]
    fn each_form_of_a_range_selects_what_the_standard_says() {
        for (value, length, expected) in [
            ("bytes=0-0", 10, part(0, 1)),
            ("bytes=0-499", 10_000, part(0, 500)),
            ("bytes=9500-", 10_000, part(9_500, 500)),
            ("bytes=-500", 10_000, part(9_500, 500)),
            ("BYTES=2-4", 10, part(2, 3)),
            ("bytes=4-99", 10, part(4, 6)),
            ("bytes=-99", 10, part(0, 10)),
            ("bytes=9-99999999999999999999999", 10, part(9, 1)),
            ("bytes=-5", 0, Selection::Whole),
        ] {
            assert_eq!(select(value.as_bytes(), length), expected, "{value}");
        }
    }

    #[test]
    fn what_lies_behind_the_end_is_unsatisfiable() {
        for (value, length) in [
            ("bytes=10-", 10),
            ("bytes=10-20", 10),
            ("bytes=-0", 10),
            ("bytes=0-", 0),
            ("bytes=-0", 0),
            ("bytes=99999999999999999999-", 10),
        ] {
            let selection = select(value.as_bytes(), length);
            assert_eq!(selection, Selection::Unsatisfiable, "{value}");
        }
    }

    #[test]
    fn what_is_malformed_or_several_selects_all() {
        for value in [
            "",
            "bytes",
            "bytes=",
            "bytes=-",
            "bytes=5-2",
            "bytes=a-b",
            "bytes=1-2,4-5",
            "bytes=+1-2",
            "bytes= 1-2",
            "bytes=1--2",
            "lines=1-2",
            "bytes=0x1-2",
            "bytes=1",
        ] {
            assert_eq!(select(value.as_bytes(), 10), Selection::Whole, "{value}");
        }
    }
}
