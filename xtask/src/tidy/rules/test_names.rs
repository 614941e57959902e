//! A test's name is a sentence about behaviour: the list of tests is the list of promises.

use crate::tidy::Rule;
use crate::tidy::rust::{self, Function};
use crate::tidy::tree::{Tree, Violation};

const FEWEST_WORDS: usize = 4;

pub(super) const RULE: Rule = Rule {
    name: "test-names",
    says: "A test's name is a sentence of four words or more, without `test_` before it.",
    check,
};

fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, source) in &tree.sources {
        let tests = rust::functions(source)
            .into_iter()
            .filter(|function| function.is_test);
        let bad = tests.filter(is_no_sentence);
        violations.extend(bad.map(|Function { name, line, .. }| {
            let what = format!("`{name}` is no sentence");
            Violation::new(path, line, what, "say in words what holds, and when")
        }));
    }
    violations
}

fn is_no_sentence(test: &Function) -> bool {
    let words = test.name.split('_').filter(|word| !word.is_empty()).count();
    words < FEWEST_WORDS || test.name.starts_with("test_")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rules::said;

    #[test]
    fn a_name_too_short_or_with_the_prefix_is_named_and_a_sentence_is_not() {
        let text = "#[test] fn parses() {}\n#[test] fn test_that_it_parses_well() {}\n\
                    #[test] fn an_empty_head_is_refused() {}\nfn helper() {}\n";
        let said = said(&RULE, &[("a/tests/a.rs", text)]);
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].starts_with("a/tests/a.rs:1: `parses` is no sentence"));
    }
}
