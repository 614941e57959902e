//! A fuzz target that nobody starts, or that starts from nothing, finds nothing.

use crate::tidy::Rule;
use crate::tidy::tree::{Tree, Violation};

const TARGETS: &str = "fuzz/src/bin/";
const SEEDS: &str = "fuzz/seeds/";

pub(super) const RULE: Rule = Rule {
    name: "fuzz-targets",
    says: "Each fuzz target has seeds and is one that `cargo xtask test` runs, and no seeds are orphans.",
    check,
};

fn check(tree: &Tree) -> Vec<Violation> {
    let targets: Vec<&str> = tree
        .below(TARGETS, |rest| rest.strip_suffix(".rs"))
        .collect();
    let seedless = targets
        .iter()
        .filter(|target| !tree.has(&format!("{SEEDS}{target}")));
    let seedless = seedless.map(|target| {
        let advice = format!("put what it should begin with into {SEEDS}{target}/");
        Violation::new(
            &format!("{TARGETS}{target}.rs"),
            0,
            "it has no seeds",
            advice,
        )
    });
    let idle = targets
        .iter()
        .filter(|target| !is_run(tree, target))
        .map(|target| {
            let what = "`cargo xtask test` does not run it";
            let advice = "add it to the list of targets in xtask";
            Violation::new(&format!("{TARGETS}{target}.rs"), 0, what, advice)
        });
    let orphans = tree
        .below(SEEDS, |rest| rest.split_once('/'))
        .filter_map(|(target, file)| {
            let advice = "rename the folder, or take it out";
            let violation = || {
                Violation::new(
                    &format!("{SEEDS}{target}/{file}"),
                    0,
                    "its target is gone",
                    advice,
                )
            };
            (!targets.contains(&target)).then(violation)
        });
    seedless.chain(idle).chain(orphans).collect()
}

/// Whether the name stands as a text in the sources of xtask.
fn is_run(tree: &Tree, target: &str) -> bool {
    let quoted = format!("\"{target}\"");
    let mut sources = tree
        .sources
        .iter()
        .filter(|(path, _)| path.starts_with("xtask/"));
    sources.any(|(_, source)| source.text.contains(&quoted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rules::said;

    #[test]
    fn a_target_without_seeds_or_line_and_seeds_without_target_are_named() {
        let files = [
            ("fuzz/src/bin/request.rs", ""),
            ("fuzz/src/bin/url.rs", ""),
            ("fuzz/seeds/request/get", "GET"),
            ("fuzz/seeds/gone/a", ""),
            (
                "xtask/src/fuzz.rs",
                "const TARGETS: [&str; 1] = [\"request\"];",
            ),
        ];
        let said = said(&RULE, &files);
        assert_eq!(said.len(), 3, "{said:?}");
        assert!(said[0].contains("url.rs: it has no seeds"));
        assert!(said[1].contains("url.rs: `cargo xtask test` does not run it"));
        assert!(said[2].starts_with("fuzz/seeds/gone/a: its target is gone"));
    }
}
