//! Finds what the rules check in documents: inline code and links.

/// A piece of a document with its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Quote<'a> {
    /// Line number, from 1.
    pub(super) line: usize,
    pub(super) text: &'a str,
}

/// The pieces between single backticks of a line.
pub(super) fn quoted(text: &str) -> impl Iterator<Item = &str> {
    // Pieces with an odd index are inside; a backtick without a partner opens nothing.
    let pieces = text.split('`').count();
    let inside = text.split('`').skip(1).step_by(2);
    inside.take(pieces.saturating_sub(1) / 2)
}

/// Inline code outside fenced blocks.
pub(super) fn inline_code(text: &str) -> impl Iterator<Item = Quote<'_>> {
    prose(text).flat_map(|Quote { line, text }| quoted(text).map(move |text| Quote { line, text }))
}

/// The targets of links and pictures outside fenced blocks.
pub(super) fn links(text: &str) -> impl Iterator<Item = Quote<'_>> {
    prose(text).flat_map(|Quote { line, text }| {
        let ends = text.split("](").skip(1);
        ends.filter_map(move |rest| {
            let (text, _) = rest.split_once(')')?;
            Some(Quote { line, text })
        })
    })
}

/// Every line outside blocks that are fenced by three backticks.
fn prose(text: &str) -> impl Iterator<Item = Quote<'_>> {
    let mut is_open = false;
    (1..).zip(text.lines()).filter_map(move |(line, text)| {
        let is_fence = text.trim_start().starts_with("```");
        is_open ^= is_fence;
        (!is_open && !is_fence).then_some(Quote { line, text })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "See `a/b.rs` and [c](d.md) `open\n```console measured\n$ x `y`\n```\n    z\n";

    #[test]
    fn code_and_links_are_found_in_prose_alone() {
        let seen = |quotes: &mut dyn Iterator<Item = Quote<'static>>| {
            quotes
                .map(|quote| (quote.line, quote.text))
                .collect::<Vec<_>>()
        };
        assert_eq!(seen(&mut inline_code(TEXT)), [(1, "a/b.rs")]);
        assert_eq!(seen(&mut links(TEXT)), [(1, "d.md")]);
    }
}
