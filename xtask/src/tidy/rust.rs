//! Rust as the rules read it: words with their lines, and which lines are those of tests.

use std::ops::RangeInclusive;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// What stands before a module of tests, or a helper of theirs.
const OF_TESTS: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
const TEST: [&str; 4] = ["#", "[", "test", "]"];

/// A Rust file, taken apart.
pub(super) struct Source {
    pub(super) text: String,
    pub(super) words: Vec<Word>,
    /// Lines that are there for tests alone, in a file that is not.
    tests: Vec<RangeInclusive<usize>>,
}

/// A token as text: names, literals, punctuation; `::` is one word.
#[derive(Debug)]
pub(super) struct Word {
    pub(super) text: String,
    /// From 1.
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

    /// Lines of code outside test modules: neither blank nor comment alone.
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

/// Whether a file is all test code.
pub(super) fn is_test_file(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs")
}

/// Whether words begin with these.
pub(super) fn begins(words: &[Word], with: &[&str]) -> bool {
    let texts = words.iter().map(|word| word.text.as_str());
    texts.take(with.len()).eq(with.iter().copied())
}

/// From each such attribute to the end of what it is of.
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
