//! No large files: a clone stays small for good, since history keeps what was once there.

use crate::tidy::Rule;
use crate::tidy::tree::{Tree, Violation};

const MOST_BYTES: u64 = 600_000;
/// Larger ones that are worth it.
const WORTH_IT: [&str; 0] = [];

pub(super) const RULE: Rule = Rule {
    name: "blobs",
    says: "No file is larger than 600 kB.",
    check,
};

fn check(tree: &Tree) -> Vec<Violation> {
    tree.sizes
        .iter()
        .filter(|(path, bytes)| **bytes > MOST_BYTES && !WORTH_IT.contains(&path.as_str()))
        .map(|(path, bytes)| {
            Violation::new(
                path,
                0,
                format!("it has {bytes} bytes"),
                "make it smaller, or build it when it is needed",
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rules::said;

    #[test]
    fn a_large_file_is_named_with_its_size() {
        let large = "x".repeat(600_001);
        let said = said(
            &RULE,
            &[("docs/a.svg", &large), ("docs/b.svg", &large[1..])],
        );
        assert_eq!(said.len(), 1);
        assert!(
            said[0].starts_with("docs/a.svg: it has 600001 bytes"),
            "{said:?}"
        );
    }
}
