//! The rules by name, in a plain array; one file per rule.

mod blobs;
mod command_output;
mod commands;
mod commits;
mod crate_arrows;
mod dependencies;
mod doubts;
mod file_headers;
mod fuzz_targets;
mod kernel_files;
mod leftovers;
mod lengths;
mod levers;
mod lints;
mod listed;
mod module_arrows;
mod packages;
mod paths;
mod promises;
mod schemas;
mod studies;
mod table;
mod test_names;
mod unsafe_code;

use super::Rule;
pub(super) use command_output::{is_steady, sessions};
pub(super) use lengths::code_lines;
pub(super) use packages::locked;
pub(super) use unsafe_code::unsafe_lines;

/// Every house rule.
pub(super) const ALL: &[Rule] = &[
    crate_arrows::RULE,
    module_arrows::RULE,
    packages::RULE,
    dependencies::RULE,
    lints::RULE,
    unsafe_code::RULE,
    kernel_files::RULE,
    lengths::FUNCTIONS,
    lengths::FILES,
    file_headers::RULE,
    test_names::RULE,
    leftovers::RULE,
    blobs::RULE,
    listed::PLANTED,
    listed::INSTRUMENTS,
    listed::CHECKS,
    studies::RULE,
    levers::RULE,
    fuzz_targets::RULE,
    schemas::RULE,
    doubts::RULE,
    paths::RULE,
    promises::RULE,
    commands::RULE,
    command_output::RULE,
    commits::RULE,
];

/// What a rule says of a tree of these files.
#[cfg(test)]
pub(super) fn said(rule: &Rule, files: &[(&str, &str)]) -> Vec<String> {
    let tree = super::Tree::of(files.iter().copied()).unwrap();
    said_of(rule, &tree)
}

/// What a rule says of a tree.
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

    #[test]
    fn an_empty_tree_breaks_no_rule() {
        let tree = super::super::Tree::default();
        for rule in ALL {
            assert_eq!(said_of(rule, &tree), Vec::<String>::new(), "{}", rule.name);
        }
    }
}
