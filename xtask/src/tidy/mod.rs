//! The house rules: `cargo xtask tidy` checks what no compiler, no lint and no test checks.
//!
//! A rule is a name, one sentence, and a pure function from a [`Tree`] to the violations in it. So
//! each is tested on a small tree that breaks it.

mod gather;
mod markdown;
mod rules;
mod rust;
mod tree;

use anyhow::bail;
use tree::{Tree, Violation};

use crate::stage::Stages;

/// One house rule.
struct Rule {
    /// Lower-case words joined by hyphens.
    name: &'static str,
    /// What must hold, in one sentence.
    says: &'static str,
    /// Returns the violations in a tree.
    check: fn(&Tree) -> Vec<Violation>,
}

/// Runs `cargo xtask tidy`; true if nothing is wrong.
pub(crate) fn run(arguments: &[&str]) -> anyhow::Result<bool> {
    match arguments {
        [] => check(),
        ["--rules"] => {
            for rule in rules::ALL {
                println!("{:<20} {}", rule.name, rule.says);
            }
            Ok(true)
        }
        other => bail!("tidy takes `--rules`, not `{}`", other.join(" ")),
    }
}

/// Checks every rule on this repository and prints the violations; true if there are none.
fn check() -> anyhow::Result<bool> {
    let tree = gather::tree()?;
    let mut wrong = 0;
    for rule in rules::ALL {
        for violation in (rule.check)(&tree) {
            println!("{violation} [{}]", rule.name);
            wrong += 1;
        }
    }
    println!("{} house rules, {wrong} violations", rules::ALL.len());
    Ok(wrong == 0)
}

/// Runs the check as a stage of `cargo xtask test`.
pub(crate) fn stage(stages: &mut Stages) -> anyhow::Result<()> {
    let begun = sys::clock::now();
    println!("== tidy");
    let held = check()?;
    stages.note("tidy", begun, held)
}
