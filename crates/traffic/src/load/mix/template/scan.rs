//! Finds templates in a text.

use std::ops::Range;

use model::random::SplitMix64;

/// A name in braces, perhaps with a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Placeholder {
    /// Byte range in the text, from brace to brace.
    pub(super) at: Range<usize>,
    pub(super) name: String,
    /// `None` for a name alone; an error holds the whole text of what should be a range.
    pub(super) span: Option<Result<Span, String>>,
}

/// A range of numbers to draw from, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    low: u64,
    count: usize,
}

impl Span {
    fn parse(text: &str) -> Option<Self> {
        let (low, high) = text.split_once("..")?;
        let number = |text: &str| {
            let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse::<u64>().ok().filter(|_| is_plain)
        };
        let (low, high) = (number(low)?, number(high)?);
        let count = high.checked_sub(low)?.checked_add(1)?;
        let count = usize::try_from(count).ok()?;
        Some(Self { low, count })
    }

    #[inline]
    pub(super) fn draw(self, random: &mut SplitMix64) -> u64 {
        self.low + random.below(self.count) as u64
    }
}

/// Returns all placeholders of a text, in order.
pub(super) fn places(text: &[u8]) -> impl Iterator<Item = Placeholder> {
    let braces = (0..text.len()).filter(|at| text[*at] == b'{');
    braces.filter_map(|at| place(text, at))
}

/// Returns the placeholder that begins at the brace at `at`, if it is one.
fn place(text: &[u8], at: usize) -> Option<Placeholder> {
    let inside = &text[at + 1..];
    let length = inside.iter().position(|byte| *byte == b'}')?;
    let inside = std::str::from_utf8(&inside[..length]).ok()?;
    let (name, span) = match inside.split_once(':') {
        Some((name, span)) => (name, Some(span)),
        None => (inside, None),
    };
    // `{id:3}` may well belong to another syntax; two dots show that a range was meant.
    let is_other =
        |span: &str| !(span.starts_with(|c: char| c.is_ascii_digit()) && span.contains(".."));
    if !is_name(name) || span.is_some_and(is_other) {
        return None;
    }
    let whole = || format!("{{{inside}}}");
    Some(Placeholder {
        at: at..at + length + 2,
        name: name.to_owned(),
        span: span.map(|span| Span::parse(span).ok_or_else(whole)),
    })
}

fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    let begins = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    bytes.next().is_some_and(begins) && bytes.all(|byte| begins(byte) || byte.is_ascii_digit())
}
