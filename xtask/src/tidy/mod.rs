//! The house rules: `cargo xtask tidy` checks what no compiler, no lint and no test does.
//!
//! A rule is a name, one sentence, and a pure function from a [`Tree`] that was read in to what is
//! wrong in it. So each is tested on a small tree that breaks it.

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
    /// What is wrong.
    check: fn(&Tree) -> Vec<Violation>,
}

/// Does what is asked for; whether all is well.
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

/// Checks every rule over this repository and prints what is wrong; whether nothing is.
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

/// The check as a stage of `cargo xtask test`.
pub(crate) fn stage(stages: &mut Stages) -> anyhow::Result<()> {
    let begun = sys::clock::now();
    println!("== tidy");
    let held = check()?;
    stages.note("tidy", begun, held)
}
