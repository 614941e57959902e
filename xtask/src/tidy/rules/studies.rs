//! What is shipped as data is compiled in: a study or a service that no list names is not there.

use crate::tidy::Rule;
use crate::tidy::tree::{Tree, Violation};

/// The folders of data, whose files some source must take in.
const FOLDERS: [&str; 2] = ["studies/", "services/"];

pub(super) const RULE: Rule = Rule {
    name: "shipped-data",
    says: "Each file of studies/ and services/ is compiled into the program.",
    check,
};

fn check(tree: &Tree) -> Vec<Violation> {
    let files = tree.texts.keys().filter(|path| {
        path.ends_with(".toml") && FOLDERS.iter().any(|folder| path.starts_with(folder))
    });
    files
        .filter(|path| !is_included(tree, path))
        .map(|path| {
            let what = "it is not compiled in";
            Violation::new(
                path,
                0,
                what,
                "add it to the catalogue, with `include_str!`",
            )
        })
        .collect()
}

fn is_included(tree: &Tree, path: &str) -> bool {
    let target = format!("/{path}\"");
    tree.sources.values().any(|source| {
        let includes = source.text.split("include_str!").skip(1);
        includes
            .filter_map(|rest| rest.split(')').next())
            .any(|argument| argument.contains(&target))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rules::said;

    #[test]
    fn a_study_that_no_list_takes_in_is_named() {
        let list = "const A: &[&str] = &[include_str!(\n    \"../../studies/a.toml\"\n)];";
        let files = [
            ("crates/study/src/c.rs", list),
            ("studies/a.toml", ""),
            ("services/b.toml", ""),
        ];
        let said = said(&RULE, &files);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].starts_with("services/b.toml: it is not compiled in"));
    }
}
