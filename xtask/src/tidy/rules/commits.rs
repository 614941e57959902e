//! Commits say where and what in one short line, so that the history reads as a list.

use crate::tidy::Rule;
use crate::tidy::tree::{Commit, Tree, Violation};

const MOST_CHARACTERS: usize = 60;

pub(super) const RULE: Rule = Rule {
    name: "commits",
    says: "A commit's subject is `area: verb ...` in at most 60 characters.",
    check,
};

fn check(tree: &Tree) -> Vec<Violation> {
    tree.commits
        .iter()
        .filter_map(|commit| Some(violation(commit, wrong(&commit.subject)?)))
        .collect()
}

fn violation(commit: &Commit, what: String) -> Violation {
    let advice = "reword it before it lands (`git rebase -i`)";
    Violation::new(&format!("commit {}", commit.hash), 0, what, advice)
}

fn wrong(subject: &str) -> Option<String> {
    let length = subject.chars().count();
    if length > MOST_CHARACTERS {
        return Some(format!("its subject has {length} characters: `{subject}`"));
    }
    let is_area = |area: &str| {
        !area.is_empty()
            && area
                .chars()
                .all(|c| c.is_ascii_lowercase() || ", -_".contains(c))
    };
    let begins_well = |rest: &str| rest.starts_with(|c: char| c.is_alphanumeric() || c == '`');
    match subject.split_once(": ") {
        Some((area, rest)) if is_area(area) && begins_well(rest) && !rest.ends_with('.') => None,
        _ => Some(format!("its subject is not `area: verb ...`: `{subject}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rules::said_of;

    #[test]
    fn long_and_shapeless_subjects_are_named_and_good_ones_are_not() {
        let commit = |subject: &str| Commit {
            hash: "abc".to_owned(),
            subject: subject.to_owned(),
        };
        let long = format!("load: {}", "x".repeat(55));
        let subjects = ["judge, model: keep it", "Fixed stuff", "load: end.", &long];
        let tree = Tree {
            commits: subjects.map(commit).into(),
            ..Tree::default()
        };
        let said = said_of(&RULE, &tree);
        assert_eq!(said.len(), 3, "{said:?}");
        assert!(said[0].contains("`Fixed stuff`"));
        assert!(said[2].contains("61 characters"));
    }
}
