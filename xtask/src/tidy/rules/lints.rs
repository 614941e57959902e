//! One list of lints for all: a crate that does not take it is a crate without rules.

use crate::tidy::Rule;
use crate::tidy::tree::{Tree, Violation};

pub(super) const RULE: Rule = Rule {
    name: "lints",
    says: "Every crate of the workspace takes the workspace's lints.",
    check,
};

fn check(tree: &Tree) -> Vec<Violation> {
    let members = tree.members.iter();
    let manifests = members.filter_map(|member| {
        let paths = [format!("crates/{}", member.name), member.name.clone()];
        let mut paths = paths.iter().map(|folder| format!("{folder}/Cargo.toml"));
        paths.find_map(|path| tree.texts.get_key_value(&path))
    });
    manifests
        .filter(|(_, text)| !text.contains("[lints]\nworkspace = true"))
        .map(|(path, _)| {
            let what = "it does not take the workspace's lints";
            Violation::new(path, 0, what, "add `[lints]` with `workspace = true`")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rules::said_of;
    use crate::tidy::tree::Member;

    #[test]
    fn a_crate_with_lints_of_its_own_is_named() {
        let mut tree = Tree::of([
            ("crates/a/Cargo.toml", "[lints]\nworkspace = true\n"),
            ("b/Cargo.toml", "[lints.rust]\nunsafe_code = \"allow\"\n"),
        ])
        .unwrap();
        tree.members = ["a", "b"]
            .map(|name| Member {
                name: name.to_owned(),
                ..Member::default()
            })
            .into();
        let said = said_of(&RULE, &tree);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].starts_with("b/Cargo.toml: it does not take"));
    }
}
