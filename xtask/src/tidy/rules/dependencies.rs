//! Each package from outside has its reason beside it, where somebody asks whether it can go.

use crate::tidy::Rule;
use crate::tidy::tree::{Tree, Violation};

pub(super) const RULE: Rule = Rule {
    name: "dependencies",
    says: "Every dependency from outside has its reason as a comment above it in Cargo.toml.",
    check,
};

fn check(tree: &Tree) -> Vec<Violation> {
    let manifests = tree
        .texts
        .iter()
        .filter(|(path, _)| path.ends_with("Cargo.toml"));
    manifests
        .flat_map(|(path, text)| unexplained(path, text))
        .collect()
}

/// A comment explains the lines below it up to the next blank line or heading.
fn unexplained(path: &str, text: &str) -> Vec<Violation> {
    let mut violations = Vec::new();
    let (mut in_list, mut explained) = (false, false);
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        if line.starts_with('[') {
            in_list = line.ends_with("dependencies]");
            explained = false;
        } else if line.starts_with('#') {
            explained = true;
        } else if line.is_empty() {
            explained = false;
        } else if in_list && is_from_outside(line) && !explained {
            let name = line.split(['=', '.', ' ']).next().unwrap_or_default();
            violations.push(Violation::new(
                path,
                number,
                format!("`{name}` has no reason"),
                "say above it what it is for and why it is not written here",
            ));
        }
    }
    violations
}

fn is_from_outside(line: &str) -> bool {
    line.contains('=') && !line.contains("workspace = true") && !line.contains("path = ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rules::said;

    #[test]
    fn a_bare_dependency_is_named_and_one_with_its_reason_is_not() {
        let manifest = "[package]\nname = \"a\"\n[dependencies]\nwire.workspace = true\n\
                        # Errors.\nthiserror = \"2\"\n\n[dev-dependencies]\nhttpdate = \"1\"\n";
        let said = said(&RULE, &[("crates/a/Cargo.toml", manifest)]);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].starts_with("crates/a/Cargo.toml:9: `httpdate` has no reason"));
    }
}
