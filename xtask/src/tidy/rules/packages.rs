//! How much of other people's work comes along: every package is one to trust and to update.

use crate::tidy::Rule;
use crate::tidy::tree::{Tree, Violation};

const LOCK: &str = "Cargo.lock";
const MOST_IN_LOCK: usize = 200;

/// So many packages at most, of what cargo is asked to build.
pub(in crate::tidy) struct PackageLimit {
    what: &'static str,
    pub(in crate::tidy) selected: &'static [&'static str],
    most: usize,
}

pub(in crate::tidy) const LIMITS: [PackageLimit; 2] = [
    // 190 until 22 November 2026: crates of our own came to those, `foreign` and `behaviour`.
    PackageLimit {
        what: "on Linux all takes",
        selected: &["--workspace", "--edges", "normal,build,dev"],
        most: 192,
    },
    // 56 until then, and itself; 58 until 23 November, when the schemas came from the types, by schemars.
    PackageLimit {
        what: "`traffic` without its tests takes",
        selected: &["--package", "traffic", "--edges", "normal,build"],
        most: 64,
    },
];

pub(super) const RULE: Rule = Rule {
    name: "packages",
    says: "At most 260 packages are locked, 192 of them for Linux, and `traffic` needs at most 57.",
    check,
};

fn check(tree: &Tree) -> Vec<Violation> {
    let lock = tree.texts.get(LOCK).map_or("", String::as_str);
    let locked = lock.lines().filter(|line| *line == "[[package]]").count();
    let built = LIMITS.iter().zip(&tree.built);
    let built = built.map(|(limit, count)| (limit.what, *count, limit.most));
    let counts = [("the lock file holds", locked, MOST_IN_LOCK)];
    let passed = counts.into_iter().chain(built);
    let passed = passed.filter(|(_, count, most)| count > most);
    let violations = passed.map(|(what, count, most)| {
        let what = format!("{what} {count} packages, and {most} are the limit");
        let advice =
            "`cargo tree -i PACKAGE` says who brings what; do without, or turn features off";
        Violation::new(LOCK, 0, what, advice)
    });
    violations.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rules::said_of;

    #[test]
    fn each_limit_holds_and_is_named_when_passed() {
        let tree = |locked: usize, built: [usize; 2]| {
            let lock = "[[package]]\nname = \"a\"\n".repeat(locked);
            let mut tree = Tree::of([(LOCK, lock.as_str())]).unwrap();
            tree.built = built.into();
            tree
        };
        assert!(said_of(&RULE, &tree(200, [192, 64])).is_empty());
        let said = said_of(&RULE, &tree(201, [193, 65]));
        assert_eq!(said.len(), 3, "{said:?}");
        assert!(said[2].contains("`traffic` without its tests takes 65 packages, and 64 are"));
    }
}
