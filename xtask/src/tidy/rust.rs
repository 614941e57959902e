//! Rust sources as the rules see them: words with their lines, and which lines belong to tests.

use std::ops::RangeInclusive;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Words of the attribute before a test module or a helper of tests, and of that before a test.
const OF_TESTS: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
const TEST: [&str; 4] = ["#", "[", "test", "]"];

/// A parsed Rust file.
pub(super) struct Source {
    pub(super) text: String,
    pub(super) words: Vec<Word>,
    /// Lines that are compiled only for tests.
    tests: Vec<RangeInclusive<usize>>,
}

/// A token as text: a name, a literal or punctuation; `::` is one word.
#[derive(Debug)]
pub(super) struct Word {
    pub(super) text: String,
    /// Line number, from 1.
    pub(super) line: usize,
}

impl Source {
    pub(super) fn parse(text: &str) -> anyhow::Result<Self> {
        let tokens: TokenStream = text.parse().map_err(|error| anyhow::anyhow!("{error}"))?;
        let mut words = Vec::new();
        add_words(&tokens, &mut words);
        Ok(Self {
            text: text.to_owned(),
            tests: test_lines(&words),
            words,
        })
    }

    pub(super) fn is_of_tests(&self, line: usize) -> bool {
        self.tests.iter().any(|lines| lines.contains(&line))
    }

    /// Number of lines of code outside test code; blank lines and lines of comments do not count.
    pub(super) fn code_lines(&self) -> usize {
        let lines = (1..).zip(self.text.lines().map(str::trim));
        let code = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with("//"));
        code.filter(|(number, _)| !self.is_of_tests(*number))
            .count()
    }

    /// The names of the tests.
    pub(super) fn tests(&self) -> impl Iterator<Item = &Word> {
        let begins = (0..self.words.len()).filter(|at| begins(&self.words[*at..], &TEST));
        begins.filter_map(|at| {
            let mut rest = self.words[at..].iter();
            rest.find(|word| word.text == "fn")?;
            rest.next()
        })
    }
}

/// Whether a file contains only test code.
pub(super) fn is_test_file(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs")
}

/// Whether `words` begin with the texts `with`.
pub(super) fn begins(words: &[Word], with: &[&str]) -> bool {
    let texts = words.iter().map(|word| word.text.as_str());
    texts.take(with.len()).eq(with.iter().copied())
}

/// Lines of test code: from each `#[cfg(test)]` to the end of its item.
fn test_lines(words: &[Word]) -> Vec<RangeInclusive<usize>> {
    let begin = (0..words.len()).filter(|at| begins(&words[*at..], &OF_TESTS));
    let lines = begin.filter_map(|at| {
        let mut depth = 0;
        let last = words[at..].iter().find(|word| {
            depth += i32::from(word.text == "{") - i32::from(word.text == "}");
            depth == 0 && matches!(word.text.as_str(), "}" | ";")
        });
        Some(words[at].line..=last?.line)
    });
    lines.collect()
}

fn add_words(tokens: &TokenStream, words: &mut Vec<Word>) {
    for token in tokens.clone() {
        let line = token.span().start().line;
        let TokenTree::Group(group) = &token else {
            push(words, &token.to_string(), line);
            continue;
        };
        let (open, close) = match group.delimiter() {
            Delimiter::Brace => ("{", "}"),
            Delimiter::Bracket => ("[", "]"),
            Delimiter::Parenthesis => ("(", ")"),
            Delimiter::None => ("", ""),
        };
        push(words, open, line);
        add_words(&group.stream(), words);
        push(words, close, group.span_close().start().line);
    }
}

fn push(words: &mut Vec<Word>, text: &str, line: usize) {
    match words.last_mut() {
        Some(last) if text == ":" && last.text == ":" => "::".clone_into(&mut last.text),
        _ => words.push(Word {
            text: text.to_owned(),
            line,
        }),
    }
}
