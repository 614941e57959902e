//! All house rules, in a plain array.

mod arrows;
mod paths;
mod promises;
mod repository;
mod sources;

use super::Rule;

/// Every house rule.
pub(super) const ALL: &[Rule] = &[
    arrows::CRATES,
    arrows::MODULES,
    repository::PACKAGES,
    repository::LINTS,
    sources::UNSAFE_CODE,
    sources::FILE_LENGTH,
    sources::FILE_HEADERS,
    sources::TEST_NAMES,
    sources::TYPE_NAMES,
    repository::BLOBS,
    paths::RULE,
    promises::RULE,
    repository::COMMITS,
];

/// The violations of a rule in a tree of these files, as text.
#[cfg(test)]
pub(super) fn said(rule: &Rule, files: &[(&str, &str)]) -> Vec<String> {
    let tree = super::Tree::of(files.iter().copied()).unwrap();
    said_of(rule, &tree)
}

/// The violations of a rule in a tree, as text.
#[cfg(test)]
pub(super) fn said_of(rule: &Rule, tree: &super::Tree) -> Vec<String> {
    let violations = (rule.check)(tree);
    violations.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_a_name_of_its_own_and_one_sentence() {
        for (index, rule) in ALL.iter().enumerate() {
            assert!(rule.says.ends_with('.'), "{}", rule.name);
            assert!(ALL[..index].iter().all(|other| other.name != rule.name));
        }
    }
}
