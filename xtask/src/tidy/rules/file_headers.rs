//! The first line of a file says what it is, so that a reader of the tree need not open it.

use crate::tidy::Rule;
use crate::tidy::tree::{Tree, Violation};

pub(super) const RULE: Rule = Rule {
    name: "file-headers",
    says: "The first line of each Rust file is `//!` and says what the file is.",
    check,
};

fn check(tree: &Tree) -> Vec<Violation> {
    tree.sources
        .iter()
        .filter(|(_, source)| !source.text.starts_with("//! "))
        .map(|(path, _)| {
            let what = "it does not say what it is";
            Violation::new(path, 1, what, "begin it with one sentence after `//!`")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rules::said;

    #[test]
    fn a_file_without_its_sentence_is_named() {
        let files = [("a/src/x.rs", "//! X.\n"), ("a/src/y.rs", "use x;\n")];
        let said = said(&RULE, &files);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].starts_with("a/src/y.rs:1: it does not say what it is"));
    }
}
