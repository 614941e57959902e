//! The house rules: `cargo xtask tidy` checks what a compiler does not.
//!
//! A rule is a name, one sentence, and a pure function from a [`Tree`] that was read in to what is
//! wrong in it. So each is tested on a small tree that breaks it.

mod gather;
mod markdown;
mod numbers;
mod rules;
mod rust;
mod tree;

use anyhow::bail;
use tree::{Tree, Violation};

use crate::stage::Stages;
use crate::target;

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
        [] => {
            let _claim = target::claim()?;
            check()
        }
        ["--rules"] => Ok(print_rules()),
        ["--numbers"] => print_numbers(),
        other => bail!(
            "tidy takes `--rules` or `--numbers`, not `{}`",
            other.join(" ")
        ),
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

/// The check as a stage of `cargo xtask test`; the caller has the target directory already.
pub(crate) fn stage(stages: &mut Stages) -> anyhow::Result<()> {
    let begun = sys::clock::now();
    println!("== tidy");
    let held = check()?;
    stages.note("tidy", begun, held)
}

/// Prints the numbers of the house.
fn print_numbers() -> anyhow::Result<bool> {
    println!("{}", numbers::of(&gather::house()?));
    Ok(true)
}

/// Prints each rule with its sentence.
fn print_rules() -> bool {
    for rule in rules::ALL {
        println!("{:<20} {}", rule.name, rule.says);
    }
    true
}
