//! Rules for every Rust file.

use std::collections::BTreeMap;

use crate::tidy::Rule;
use crate::tidy::tree::{Tree, Violation};

/// The one crate with `unsafe` code.
const HOME_OF_UNSAFE: &str = "crates/sys/";
const LONGEST_FILE_LINES: usize = 400;
const FEWEST_WORDS: usize = 4;
const MOST_TYPES_OF_A_NAME: usize = 3;
/// Customary name of the type with a command's flags for clap.
const OF_EVERY_COMMAND: &str = "Arguments";

pub(super) const UNSAFE_CODE: Rule = Rule {
    name: "unsafe-code",
    says: "`unsafe` stands in `crates/sys` alone, whoever would expect the lint.",
    check: |tree| {
        let others = tree
            .sources
            .iter()
            .filter(|(path, _)| !path.starts_with(HOME_OF_UNSAFE));
        let words =
            others.flat_map(|(path, source)| source.words.iter().map(move |word| (path, word)));
        let found = words
            .filter(|(_, word)| word.text == "unsafe")
            .map(|(path, word)| {
                let advice = "give `sys` a safe function for it, or do without";
                Violation::new(path, word.line, "`unsafe` outside `crates/sys`", advice)
            });
        found.collect()
    },
};

pub(super) const FILE_LENGTH: Rule = Rule {
    name: "file-length",
    says: "A file has at most 400 lines of code without its tests.",
    check: |tree| {
        let lengths = tree
            .sources
            .iter()
            .map(|(path, source)| (path, source.code_lines()));
        let long = lengths
            .filter(|(_, lines)| *lines > LONGEST_FILE_LINES)
            .map(|(path, lines)| {
                let what = format!("it has {lines} lines, and {LONGEST_FILE_LINES} is the limit");
                Violation::new(path, 0, what, "take it apart by what its parts are about")
            });
        long.collect()
    },
};

pub(super) const FILE_HEADERS: Rule = Rule {
    name: "file-headers",
    says: "The first line of each Rust file is `//!` and says what the file is.",
    check: |tree| {
        let without = tree
            .sources
            .iter()
            .filter(|(_, source)| !source.text.starts_with("//! "));
        let without = without.map(|(path, _)| {
            let advice = "begin it with one sentence after `//!`";
            Violation::new(path, 1, "it does not say what it is", advice)
        });
        without.collect()
    },
};

pub(super) const TEST_NAMES: Rule = Rule {
    name: "test-names",
    says: "A test's name is a sentence of four words or more, without `test_` before it.",
    check: |tree| {
        let all = tree.sources.iter();
        let tests = all.flat_map(|(path, source)| source.tests().map(move |test| (path, test)));
        let bad = tests
            .filter(|(_, test)| is_no_sentence(&test.text))
            .map(|(path, test)| {
                let what = format!("`{}` is no sentence", test.text);
                Violation::new(path, test.line, what, "say in words what holds, and when")
            });
        bad.collect()
    },
};

fn is_no_sentence(name: &str) -> bool {
    let words = name.split('_').filter(|word| !word.is_empty()).count();
    words < FEWEST_WORDS || name.starts_with("test_")
}

pub(super) const TYPE_NAMES: Rule = Rule {
    name: "type-names",
    says: "Outside tests no name is that of more than three types, a command's `Arguments` and errors aside.",
    check: type_names,
};

fn type_names(tree: &Tree) -> Vec<Violation> {
    let mut places: BTreeMap<&str, Vec<(&str, usize)>> = BTreeMap::new();
    for (path, source) in tree.product() {
        for pair in source.words.windows(2) {
            let is_type = matches!(&*pair[0].text, "struct" | "enum" | "trait");
            let (name, line) = (pair[1].text.as_str(), pair[1].line);
            // A macro gets the name from its caller.
            let is_given = name.starts_with('$');
            let may_recur = is_given || name == OF_EVERY_COMMAND || name.ends_with("Error");
            if is_type && !may_recur && !source.is_of_tests(line) {
                places.entry(name).or_default().push((path, line));
            }
        }
    }
    let many = places
        .into_iter()
        .filter(|(_, places)| places.len() > MOST_TYPES_OF_A_NAME);
    let violations = many.map(|(name, places)| {
        let (path, line) = places[MOST_TYPES_OF_A_NAME];
        let what = format!("`{name}` is the name of {} types", places.len());
        Violation::new(
            path,
            line,
            what,
            "call each by what sets it apart from the others",
        )
    });
    violations.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rules::said;

    #[test]
    fn unsafe_outside_of_sys_is_named_even_when_it_is_explained_or_in_a_macro() {
        let text = "#![expect(unsafe_code, reason = \"unsafe\")]\n// SAFETY: no pointers.\n\
                    fn f() {\n    m!(unsafe { g() });\n}\n";
        let said = said(
            &UNSAFE_CODE,
            &[
                ("crates/wire/src/a.rs", text),
                ("crates/sys/src/a.rs", text),
            ],
        );
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].starts_with("crates/wire/src/a.rs:4: `unsafe` outside"));
    }

    #[test]
    fn a_file_counts_its_code_and_neither_comments_nor_tests() {
        let code = "fn f() {}\n".repeat(400);
        let more = "// Why.\n\n#[cfg(test)]\nmod tests {\n    fn g() {}\n}\n";
        assert!(said(&FILE_LENGTH, &[("a/src/a.rs", &format!("{code}{more}"))]).is_empty());
        let longer = format!("{code}fn h() {{}}\n{more}");
        let said = said(&FILE_LENGTH, &[("a/src/a.rs", &longer)]);
        assert!(
            said[0].starts_with("a/src/a.rs: it has 401 lines"),
            "{said:?}"
        );
    }

    #[test]
    fn a_file_without_its_sentence_is_named() {
        let files = [("a/src/x.rs", "//! X.\n"), ("a/src/y.rs", "use x;\n")];
        let said = said(&FILE_HEADERS, &files);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].starts_with("a/src/y.rs:1: it does not say what it is"));
    }

    #[test]
    fn a_name_too_short_or_with_the_prefix_is_named_and_a_sentence_is_not() {
        let text = "#[test] fn parses() {}\n#[test] fn test_that_it_parses_well() {}\n\
                    #[test] fn an_empty_head_is_refused() {}\nfn helper() {}\n";
        let said = said(&TEST_NAMES, &[("a/tests/a.rs", text)]);
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].starts_with("a/tests/a.rs:1: `parses` is no sentence"));
    }

    #[test]
    fn a_fourth_type_of_one_name_is_named_and_arguments_are_not() {
        let source = "struct Seen;\nstruct Arguments;\nfn seen(struct_like: Seen) -> Seen {}\n";
        let files = ["a", "b", "c", "d"].map(|name| format!("{name}/src/{name}.rs"));
        let files = files.each_ref().map(|path| (path.as_str(), source));
        assert!(said(&TYPE_NAMES, &files[..3]).is_empty());
        let said = said(&TYPE_NAMES, &files);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].starts_with("d/src/d.rs:1: `Seen` is the name of 4 types"));
    }
}
