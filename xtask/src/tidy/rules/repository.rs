//! Rules for the repository as a whole: the size of files, dependencies, the crates' lints, and the
//! history.

use crate::tidy::Rule;
use crate::tidy::tree::Violation;

/// Size of the largest file. The history keeps every file, so a clone stays small only if none is
/// large.
const MOST_BYTES: u64 = 600_000;
const LOCK: &str = "Cargo.lock";
const MOST_PACKAGES: usize = 200;
const LONGEST_SUBJECT: usize = 60;

pub(super) const BLOBS: Rule = Rule {
    name: "blobs",
    says: "No file is larger than 600 kB.",
    check: |tree| {
        let large = tree.sizes.iter().filter(|(_, bytes)| **bytes > MOST_BYTES);
        let violations = large.map(|(path, bytes)| {
            let advice = "make it smaller, or build it when it is needed";
            Violation::new(path, 0, format!("it has {bytes} bytes"), advice)
        });
        violations.collect()
    },
};

/// Limits the number of dependencies: every package must be trusted and updated.
pub(super) const PACKAGES: Rule = Rule {
    name: "packages",
    says: "At most 200 packages are locked.",
    check: |tree| {
        let lock = tree.texts.get(LOCK).map_or("", String::as_str);
        let locked = lock.matches("[[package]]\n").count();
        let what = format!("{locked} packages are locked, and {MOST_PACKAGES} are the limit");
        let advice =
            "`cargo tree -i PACKAGE` says who brings what; do without, or turn features off";
        let violation = Violation::new(LOCK, 0, what, advice);
        Vec::from_iter((locked > MOST_PACKAGES).then_some(violation))
    },
};

pub(super) const LINTS: Rule = Rule {
    name: "lints",
    says: "Every crate of the workspace takes the workspace's lints.",
    check: |tree| {
        let takes = |text: &str| text.contains("[lints]\nworkspace = true");
        let without = tree.members().filter(|(_, text)| !takes(text));
        let violations = without.map(|(folder, _)| {
            let what = "it does not take the workspace's lints";
            let advice = "add `[lints]` with `workspace = true`";
            Violation::new(&format!("{folder}/Cargo.toml"), 0, what, advice)
        });
        violations.collect()
    },
};

pub(super) const COMMITS: Rule = Rule {
    name: "commits",
    says: "A commit's subject is `area: verb ...` in at most 60 characters.",
    check: |tree| {
        let wrong = tree.commits.iter().filter_map(|(hash, subject)| {
            let what = format!("{}: `{subject}`", wrong_in(subject)?);
            let advice = "reword it before it lands (`git rebase -i`)";
            Some(Violation::new(&format!("commit {hash}"), 0, what, advice))
        });
        wrong.collect()
    },
};

fn wrong_in(subject: &str) -> Option<String> {
    let length = subject.chars().count();
    if length > LONGEST_SUBJECT {
        return Some(format!("its subject has {length} characters"));
    }
    let in_area = |c: char| c.is_ascii_lowercase() || ", -_".contains(c);
    let begins_well = |rest: &str| rest.starts_with(|c: char| c.is_alphanumeric() || c == '`');
    let is_well = subject.split_once(": ").is_some_and(|(area, rest)| {
        !area.is_empty() && area.chars().all(in_area) && begins_well(rest) && !rest.ends_with('.')
    });
    (!is_well).then(|| "its subject is not `area: verb ...`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rules::{said, said_of};
    use crate::tidy::tree::Tree;

    #[test]
    fn a_large_file_is_named_with_its_size() {
        let large = "x".repeat(600_001);
        let files = [("docs/a.svg", &large[..]), ("docs/b.svg", &large[1..])];
        let said = said(&BLOBS, &files);
        assert_eq!(said.len(), 1);
        assert!(said[0].starts_with("docs/a.svg: it has 600001 bytes"));
    }

    #[test]
    fn more_packages_than_the_limit_are_named_with_their_number() {
        let locked = |count| "[[package]]\nname = \"a\"\n".repeat(count);
        assert!(said(&PACKAGES, &[(LOCK, &locked(200))]).is_empty());
        let said = said(&PACKAGES, &[(LOCK, &locked(201))]);
        assert!(said[0].starts_with("Cargo.lock: 201 packages"), "{said:?}");
    }

    #[test]
    fn a_crate_with_lints_of_its_own_is_named_unless_it_is_a_workspace_of_its_own() {
        let own = "[lints.rust]\nunsafe_code = \"allow\"\n";
        let files = [
            ("Cargo.toml", "members = [\"b\", \"crates/*\"]\n"),
            ("crates/a/Cargo.toml", "[lints]\nworkspace = true\n"),
            ("b/Cargo.toml", own),
            ("fuzz/Cargo.toml", own),
        ];
        let said = said(&LINTS, &files);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].starts_with("b/Cargo.toml: it does not take"));
    }

    #[test]
    fn long_and_shapeless_subjects_are_named_and_good_ones_are_not() {
        let long = format!("load: {}", "x".repeat(55));
        let subjects = ["judge, model: keep it", "Fixed stuff", "load: end.", &long];
        let tree = Tree {
            commits: subjects.map(|it| ("abc".to_owned(), it.to_owned())).into(),
            ..Tree::default()
        };
        let said = said_of(&COMMITS, &tree);
        assert_eq!(said.len(), 3, "{said:?}");
        assert!(said[0].contains("`Fixed stuff`"));
        assert!(said[2].contains("61 characters"));
    }
}
