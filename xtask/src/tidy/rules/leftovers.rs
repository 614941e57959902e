//! What was left for later belongs into an issue, and what was left by mistake nowhere.

use crate::tidy::Rule;
use crate::tidy::rust::words;
use crate::tidy::tree::{Source, Tree, Violation};

/// Joined here so that this file does not name itself.
const MARKS: [&str; 3] = [
    concat!("FIX", "ME"),
    concat!("TO", "DO"),
    concat!("XX", "X"),
];

pub(super) const RULE: Rule = Rule {
    name: "leftovers",
    says: "Nothing is marked to be mended later, no test is ignored, and no `dbg!` is left.",
    check,
};

fn check(tree: &Tree) -> Vec<Violation> {
    let texts = tree.texts.iter();
    let sources = tree
        .sources
        .iter()
        .map(|(path, source)| (path, &source.text));
    let marks = texts
        .chain(sources)
        .flat_map(|(path, text)| marks(path, text));
    let calls = tree
        .sources
        .iter()
        .flat_map(|(path, source)| calls(path, source));
    marks.chain(calls).collect()
}

fn marks(path: &str, text: &str) -> Vec<Violation> {
    let is_word = |line: &str, mark: &str| {
        line.split(|c: char| !c.is_alphanumeric())
            .any(|w| w == mark)
    };
    (1..)
        .zip(text.lines())
        .filter_map(|(number, line)| {
            let mark = MARKS.iter().find(|mark| is_word(line, mark))?;
            let advice = "do it, or write an issue";
            Some(Violation::new(
                path,
                number,
                format!("{mark} is left"),
                advice,
            ))
        })
        .collect()
}

fn calls(path: &str, source: &Source) -> Vec<Violation> {
    let words = words(&source.tokens);
    let found = words.windows(2).filter_map(|pair| {
        let what = match (pair[0].text.as_str(), pair[1].text.as_str()) {
            ("dbg", "!") => "`dbg!` is left",
            ("[", "ignore") => "a test is ignored",
            _ => return None,
        };
        let advice = "take it out; a test that cannot run everywhere says so and fails";
        Some(Violation::new(path, pair[0].line, what, advice))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rules::said;

    #[test]
    fn marks_ignored_tests_and_debugging_are_named() {
        let mark = format!(
            "// {}: later\nfn a() {{ dbg!(1); }}\n#[ignore]\nfn b() {{}}\n",
            MARKS[1]
        );
        let said = said(&RULE, &[("a/src/a.rs", &mark), ("b.md", "a word: todos\n")]);
        assert_eq!(said.len(), 3, "{said:?}");
        assert!(said[0].starts_with("a/src/a.rs:1: "));
        assert!(said[1].starts_with("a/src/a.rs:2: `dbg!` is left"));
        assert!(said[2].starts_with("a/src/a.rs:3: a test is ignored"));
    }
}
