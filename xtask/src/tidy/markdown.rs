//! What the rules ask of documents: inline code, links, blocks of code.

/// A place in a document and what stands there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Quote<'a> {
    /// From 1.
    pub(super) line: usize,
    pub(super) text: &'a str,
}

/// A fenced block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fence<'a> {
    /// What stands behind the opening backticks.
    pub(super) kind: &'a str,
    pub(super) lines: Vec<Quote<'a>>,
}

/// A paragraph or an item of a list, below its heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Paragraph<'a> {
    /// The last heading before it; empty before the first.
    pub(super) heading: &'a str,
    /// Its lines; never empty.
    pub(super) lines: Vec<Quote<'a>>,
}

/// Paragraphs and items of lists, outside blocks.
pub(super) fn paragraphs(text: &str) -> Vec<Paragraph<'_>> {
    let mut found: Vec<Paragraph<'_>> = Vec::new();
    let (mut heading, mut is_within) = ("", false);
    for (line, text) in prose(text) {
        let is_item = text.starts_with("- ");
        if let Some(title) = text.strip_prefix('#') {
            (heading, is_within) = (title.trim_start_matches('#').trim(), false);
            continue;
        }
        if text.trim().is_empty() {
            is_within = false;
            continue;
        }
        if is_item || !is_within {
            let lines = Vec::new();
            found.push(Paragraph { heading, lines });
            is_within = true;
        }
        if let Some(paragraph) = found.last_mut() {
            paragraph.lines.push(Quote { line, text });
        }
    }
    found
}

/// What stands between single backticks, outside blocks.
pub(super) fn inline_code(text: &str) -> Vec<Quote<'_>> {
    prose(text)
        .flat_map(|(line, prose)| {
            // Odd pieces are inside; a backtick without its partner opens nothing.
            let pieces: Vec<&str> = prose.split('`').collect();
            let inside = pieces.len().saturating_sub(1) / 2;
            (0..inside).map(move |index| Quote {
                line,
                text: pieces[2 * index + 1],
            })
        })
        .collect()
}

/// The targets of links and pictures.
pub(super) fn links(text: &str) -> Vec<Quote<'_>> {
    prose(text)
        .flat_map(|(line, prose)| {
            let ends = prose.split("](").skip(1);
            ends.filter_map(move |rest| {
                let (target, _) = rest.split_once(')')?;
                Some(Quote { line, text: target })
            })
        })
        .collect()
}

/// Blocks between lines of three backticks.
pub(super) fn fences(text: &str) -> Vec<Fence<'_>> {
    let mut found: Vec<Fence<'_>> = Vec::new();
    let mut is_open = false;
    for (number, line) in (1..).zip(text.lines()) {
        match line.trim_start().strip_prefix("```") {
            Some(_) if is_open => is_open = false,
            Some(kind) => {
                is_open = true;
                found.push(Fence {
                    kind: kind.trim(),
                    lines: Vec::new(),
                });
            }
            None if is_open => found.last_mut().into_iter().for_each(|fence| {
                fence.lines.push(Quote {
                    line: number,
                    text: line,
                });
            }),
            None => {}
        }
    }
    found
}

/// Lines of code set off by four spaces.
pub(super) fn indented(text: &str) -> Vec<Quote<'_>> {
    prose(text)
        .filter_map(|(line, prose)| {
            let text = prose.strip_prefix("    ")?.trim();
            Some(Quote { line, text })
        })
        .collect()
}

/// Lines outside fences, numbered from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_open = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_open ^= is_fence;
        !is_open && !is_fence
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "See `a/b.rs` and [c](d.md) `open\n```console measured\n$ x `y`\n```\n    z\n";

    #[test]
    fn code_and_links_are_found_in_prose_and_not_in_fences() {
        let code = inline_code(TEXT);
        assert_eq!(
            code,
            [Quote {
                line: 1,
                text: "a/b.rs"
            }]
        );
        assert_eq!(
            links(TEXT),
            [Quote {
                line: 1,
                text: "d.md"
            }]
        );
        assert_eq!(indented(TEXT), [Quote { line: 5, text: "z" }]);
    }

    #[test]
    fn items_of_lists_are_paragraphs_and_know_their_heading() {
        let text = "a\nb\n\n## Title\n\n- c\n  d\n- e\n";
        let paragraphs = paragraphs(text);
        let seen: Vec<(&str, usize, usize)> = paragraphs
            .iter()
            .map(|one| (one.heading, one.lines[0].line, one.lines.len()))
            .collect();
        assert_eq!(seen, [("", 1, 2), ("Title", 6, 2), ("Title", 8, 1)]);
    }

    #[test]
    fn a_fence_has_its_kind_and_its_lines_with_their_numbers() {
        let fences = fences(TEXT);
        assert_eq!(fences.len(), 1);
        assert_eq!(fences[0].kind, "console measured");
        assert_eq!(
            fences[0].lines,
            [Quote {
                line: 3,
                text: "$ x `y`"
            }]
        );
    }
}
