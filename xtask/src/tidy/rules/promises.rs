//! The rule that each promise of `SECURITY.md` names the test that checks it: an unchecked promise
//! is only a hope.

use crate::tidy::Rule;
use crate::tidy::markdown::{self, Quote};
use crate::tidy::rust::Source;
use crate::tidy::tree::{Tree, Violation};

const PROMISES: &str = "SECURITY.md";
/// Heading below which nothing is promised of the program.
const END: &str = "\n## How to report";

pub(super) const RULE: Rule = Rule {
    name: "promises",
    says: "Each paragraph of SECURITY.md names its tests, as `PROGRAM::MODULE::TEST`, and they are there.",
    check,
};

fn check(tree: &Tree) -> Vec<Violation> {
    let text = tree.texts.get(PROMISES).map_or("", String::as_str);
    let promises = text.split(END).next().unwrap_or_default();
    let files: Vec<(String, &Source)> = (tree.sources.iter())
        .map(|(path, source)| (module(path), source))
        .collect();
    let mut violations = Vec::new();
    for paragraph in paragraphs(promises) {
        let names: Vec<Quote<'_>> = paragraph.iter().flat_map(names).collect();
        if names.is_empty() {
            let advice = "name the test behind it, as `hostile::services::TEST`, or write it";
            let what = "a promise without a test";
            violations.push(Violation::new(PROMISES, paragraph[0].line, what, advice));
        }
        let gone = names.iter().filter(|name| !is_there(&files, name.text));
        violations.extend(gone.map(|name| {
            let what = format!("there is no test `{}`", name.text);
            let advice =
                "name it by its file: behaviour/tests/hostile/state.rs is `hostile::state`";
            Violation::new(PROMISES, name.line, what, advice)
        }));
    }
    violations
}

/// Paragraphs and list items as their lines, without headings.
fn paragraphs(text: &str) -> Vec<Vec<Quote<'_>>> {
    let mut found = vec![Vec::new()];
    for (line, text) in (1..).zip(text.lines()) {
        let is_between = text.is_empty() || text.starts_with('#');
        if is_between || text.starts_with("- ") {
            found.push(Vec::new());
        }
        if let (false, Some(paragraph)) = (is_between, found.last_mut()) {
            paragraph.push(Quote { line, text });
        }
    }
    found.retain(|paragraph| !paragraph.is_empty());
    found
}

/// The test names that a line quotes.
fn names<'a>(line: &Quote<'a>) -> impl Iterator<Item = Quote<'a>> {
    let Quote { line, text } = *line;
    let names = markdown::quoted(text).filter(|text| text.contains("::"));
    names.map(move |text| Quote { line, text })
}

/// Whether the file that a test name gives has that test, directly or in its module `tests`.
fn is_there(files: &[(String, &Source)], name: &str) -> bool {
    let (module, test) = name.rsplit_once("::").unwrap_or_default();
    let module = format!("::{}", module.trim_end_matches("::tests"));
    let mut files = files.iter().filter(|(path, _)| path.ends_with(&module));
    files.any(|(_, source)| source.tests().any(|found| found.text == test))
}

/// The module path of a file: `::behaviour::hostile::server` for
/// `behaviour/tests/hostile/server.rs`, `::crates::study::store` for
/// `crates/study/src/store/tests.rs`.
fn module(path: &str) -> String {
    let parts = path.trim_end_matches(".rs").split('/');
    let parts = parts.filter(|part| !["src", "tests", "main", "lib", "mod"].contains(part));
    let parts: Vec<&str> = parts.collect();
    format!("::{}", parts.join("::"))
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
            ("behaviour/tests/hostile/services/mod.rs", HOSTILE),
            ("behaviour/tests/listening.rs", HOSTILE),
            ("crates/study/src/transport/mod.rs", OWN),
            ("crates/study/src/store/tests/mod.rs", HOSTILE),
        ];
        said(&RULE, &files)
    }

    #[test]
    fn tests_of_programs_and_of_crates_are_known_by_their_names() {
        let promises = "# Security\n\n- It does `x` and no more.\n  `hostile::services::another_user_is_refused`\n\
                        - It cuts. `study::transport::tests::a_long_line_is_cut`,\n  `listening::another_user_is_refused`\n\
                        - It keeps. `study::store::tests::another_user_is_refused`\n\n\
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
