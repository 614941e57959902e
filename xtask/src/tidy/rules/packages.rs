//! How much of other people's work comes along: every package is one to trust and to update.

use crate::tidy::Rule;
use crate::tidy::tree::{Tree, Violation};

const LOCK: &str = "Cargo.lock";
const MOST_IN_LOCK: usize = 260;
/// 190 until 22 November 2026: `foreign`, a crate of our own, came to those.
const MOST_ON_LINUX: usize = 191;
/// Crates with a limit of their own, the packages of tests left out; 56 until then.
const MOST_OF: [(&str, usize); 1] = [("traffic", 57)];

pub(super) const RULE: Rule = Rule {
    name: "packages",
    says: "At most 260 packages are locked, 191 of them for Linux, and `traffic` needs at most 57.",
    check,
};

fn check(tree: &Tree) -> Vec<Violation> {
    let of_members = MOST_OF.iter().flat_map(|(name, most)| {
        let members = tree
            .members
            .iter()
            .filter(move |member| member.name == *name);
        members.map(move |member| (format!("`{name}` is built from"), member.packages, *most))
    });
    [
        ("the lock file holds".to_owned(), locked(tree), MOST_IN_LOCK),
        (
            "on Linux it takes".to_owned(),
            tree.linux_packages,
            MOST_ON_LINUX,
        ),
    ]
    .into_iter()
    .chain(of_members)
    .filter(|(_, count, most)| count > most)
    .map(|(what, count, most)| {
        Violation::new(
            LOCK,
            0,
            format!("{what} {count} packages, and {most} are the limit"),
            "`cargo tree -i PACKAGE` says who brings what; do without, or turn features off",
        )
    })
    .collect()
}

/// Packages of the lock file, our own included.
pub(in crate::tidy) fn locked(tree: &Tree) -> usize {
    let text = tree.texts.get(LOCK).map_or("", String::as_str);
    text.lines().filter(|line| *line == "[[package]]").count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rules::said_of;
    use crate::tidy::tree::Member;

    fn tree(locked: usize, linux_packages: usize, of_traffic: usize) -> Tree {
        let lock = "[[package]]\nname = \"a\"\n".repeat(locked);
        let mut tree = Tree::of([(LOCK, lock.as_str())]).unwrap();
        tree.linux_packages = linux_packages;
        tree.members = vec![Member {
            name: "traffic".to_owned(),
            packages: of_traffic,
            ..Member::default()
        }];
        tree
    }

    #[test]
    fn each_limit_holds_and_is_named_when_passed() {
        assert!(said_of(&RULE, &tree(260, 191, 57)).is_empty());
        let said = said_of(&RULE, &tree(261, 192, 58));
        assert_eq!(said.len(), 3, "{said:?}");
        assert!(said[2].contains("`traffic` is built from 58 packages, and 57 are the limit"));
    }
}
