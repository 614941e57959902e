//! The command line as people and shells meet it: help, completions, man pages, exit codes.

mod completions;
mod documents;
mod exit_codes;
mod help;
mod man;
mod quiet;
mod wrk;

use std::process::{Command, Stdio};

/// The program with these words and no standard input.
fn linerate(words: &[&str]) -> Command {
    let mut command = Command::new(crate::common::program());
    command.args(words).stdin(Stdio::null());
    command
}

/// Standard output of a command that must succeed.
fn answer(words: &[&str]) -> String {
    let output = linerate(words).output().unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Every command that the help lists, as the words that call it; the program itself first.
fn commands() -> Vec<Vec<String>> {
    let mut found = vec![Vec::new()];
    let mut next = 0;
    while next < found.len() {
        let words = found[next].clone();
        let page = answer(&[&as_str(&words)[..], &["-h"]].concat());
        found.extend(listed(&page).map(|name| [&words[..], &[name]].concat()));
        next += 1;
    }
    found
}

fn as_str(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

/// The names under `Commands:` of a help page, without `help` itself.
fn listed(page: &str) -> impl Iterator<Item = String> {
    let lines = page
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty());
    let entries = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = entries.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned)
}
