//! A promise that nothing checks is a hope: each names the test that holds it.

use std::collections::BTreeSet;

use crate::tidy::Rule;
use crate::tidy::markdown::{self, Paragraph, Quote};
use crate::tidy::rust;
use crate::tidy::tree::{Tree, Violation};

const PROMISES: &str = "SECURITY.md";

/// What stands below these promises nothing of the program.
const NO_PROMISES: &[&str] = &["How to report"];

pub(super) const RULE: Rule = Rule {
    name: "promises",
    says: "Each paragraph of SECURITY.md names its tests, as `PROGRAM::MODULE::TEST`, and they are there.",
    check,
};

fn check(tree: &Tree) -> Vec<Violation> {
    let Some(text) = tree.texts.get(PROMISES) else {
        return Vec::new();
    };
    let tests = tests(tree);
    let paragraphs = markdown::paragraphs(text).into_iter();
    paragraphs
        .filter(|paragraph| !NO_PROMISES.contains(&paragraph.heading))
        .flat_map(|paragraph| wrong(&paragraph, &tests))
        .collect()
}

/// What is wrong in a paragraph: it names no test, or one that is not there.
fn wrong(paragraph: &Paragraph<'_>, tests: &BTreeSet<String>) -> Vec<Violation> {
    let named: Vec<Quote<'_>> = paragraph.lines.iter().flat_map(names).collect();
    if let (true, Some(first)) = (named.is_empty(), paragraph.lines.first()) {
        let what = "a promise without a test".to_owned();
        let advice = "name the test behind it, as `hostile::services::TEST`, or write it";
        return vec![Violation::new(PROMISES, first.line, what, advice)];
    }
    let gone = named.iter().filter(|name| !tests.contains(name.text));
    gone.map(|name| {
        let what = format!("there is no test `{}`", name.text);
        let advice = "name it by its file: linerate/tests/hostile/state.rs is `hostile::state`";
        Violation::new(PROMISES, name.line, what, advice)
    })
    .collect()
}

/// The names of tests that a line quotes.
fn names<'a>(line: &Quote<'a>) -> impl Iterator<Item = Quote<'a>> {
    let number = line.line;
    let quoted = markdown::inline_code(line.text).into_iter();
    quoted
        .filter(|quote| quote.text.contains("::"))
        .map(move |quote| Quote {
            line: number,
            text: quote.text,
        })
}

/// Every test of the repository, by the name that documents give it.
fn tests(tree: &Tree) -> BTreeSet<String> {
    let files = tree.sources.iter();
    files
        .filter_map(|(path, source)| Some((module(path)?, source)))
        .flat_map(|(module, source)| {
            let tests = rust::functions(source).into_iter();
            let tests = tests.filter(|function| function.is_test);
            tests.map(move |test| format!("{module}::{}", test.path))
        })
        .collect()
}

/// The module that a file is: `hostile::server` of `linerate/tests/hostile/server.rs`, and
/// `agent::service::trust` of `crates/agent/src/service/trust.rs`.
fn module(path: &str) -> Option<String> {
    let path = path.strip_suffix(".rs")?;
    let path = match path.split_once("/tests/") {
        Some((_, program)) => program.to_owned(),
        None => path.trim_start_matches("crates/").replacen("/src/", "/", 1),
    };
    let parts: Vec<&str> = path.split('/').collect();
    let parts = match parts.as_slice() {
        [parts @ .., "main" | "lib" | "mod"] => parts,
        parts => parts,
    };
    Some(parts.join("::"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rules::said;

    const HOSTILE: &str = "#[test]\nfn another_user_is_refused() {}\nfn helper() {}\n";
    const OWN: &str = "mod tests {\n    #[test]\n    fn a_long_line_is_cut() {}\n}\n";

    fn said_of_promises(promises: &str) -> Vec<String> {
        let files = [
            ("SECURITY.md", promises),
            ("linerate/tests/hostile/services.rs", HOSTILE),
            ("linerate/tests/listening.rs", HOSTILE),
            ("crates/study/src/transport/mod.rs", OWN),
        ];
        said(&RULE, &files)
    }

    #[test]
    fn tests_of_programs_and_of_crates_are_known_by_their_names() {
        let promises = "# Security\n\n- It does `x` and no more.\n  `hostile::services::another_user_is_refused`\n\
                        - It cuts. `study::transport::tests::a_long_line_is_cut`,\n  `listening::another_user_is_refused`\n\n\
                        ## How to report\n\nWrite to us.\n";
        assert_eq!(said_of_promises(promises), Vec::<String>::new());
    }

    #[test]
    fn a_promise_without_a_test_or_with_one_that_is_gone_is_named() {
        let promises = "- It does `x`\n  and no more.\n- It cuts.\n  `hostile::services::helper`\n";
        let said = said_of_promises(promises);
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].starts_with("SECURITY.md:1: a promise without a test"));
        assert!(said[1].starts_with("SECURITY.md:4: there is no test `hostile::services::helper`"));
    }
}
