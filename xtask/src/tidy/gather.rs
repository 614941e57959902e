//! Reads the repository in: files, what cargo would build, what the programs say of themselves.

use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use super::tree::{Helps, Tree};
use crate::release::output;
use crate::target;

/// How far back commits are looked at.
const COMMITS: &str = "100";

/// Everything that the rules look at. Builds the program, to ask it for its commands.
pub(super) fn tree() -> anyhow::Result<Tree> {
    let mut tree = Tree::default();
    read_files(&mut tree)?;
    let program = target::program(target::PROFILE)?;
    read_helps(&program, "", &mut tree.helps)?;
    tree.tasks = tasks(crate::USAGE);
    tree.commits = commits();
    Ok(tree)
}

/// Every file that git knows, or would not ignore.
fn read_files(tree: &mut Tree) -> anyhow::Result<()> {
    let all = [
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ];
    for name in said(git().args(all))?.split_terminator('\0') {
        let path = target::workspace().join(name);
        // One that was taken away is known to git until then.
        if path.is_file() {
            let bytes = std::fs::read(&path).with_context(|| name.to_owned())?;
            tree.add(name, &bytes)?;
        }
    }
    Ok(())
}

/// The help of a command and of all below it, the hidden ones left out.
fn read_helps(program: &Path, command: &str, helps: &mut Helps) -> anyhow::Result<()> {
    let words = command.split_whitespace().chain(["--help"]);
    let help = said(Command::new(program).args(words))?;
    for inner in subcommands(&help) {
        let longer = format!("{command} {inner}");
        read_helps(program, longer.trim_start(), helps)?;
    }
    helps.insert(command.to_owned(), help);
    Ok(())
}

/// The names in the paragraph `Commands:`.
fn subcommands(help: &str) -> Vec<&str> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| !line.trim().is_empty());
    lines
        .filter_map(name_of)
        .filter(|name| *name != "help")
        .collect()
}

/// What begins a line that is set off by two spaces, and no more.
fn name_of(line: &str) -> Option<&str> {
    let name = line.strip_prefix("  ")?.split(' ').next()?;
    (!name.is_empty()).then_some(name)
}

/// What our own commands are said to be, each with the lines below it.
fn tasks(usage: &str) -> Helps {
    let (mut tasks, mut name) = (Helps::new(), "");
    for line in usage.lines() {
        name = name_of(line).unwrap_or(name);
        *tasks.entry(name.to_owned()).or_default() += line;
    }
    tasks
}

/// None without a history.
fn commits() -> Vec<(String, String)> {
    let newest = ["log", "--no-merges", "-n", COMMITS, "--format=%h\t%s"];
    let log = said(git().args(newest)).unwrap_or_default();
    let lines = log.lines().filter_map(|line| line.split_once('\t'));
    lines
        .map(|(hash, subject)| (hash.to_owned(), subject.to_owned()))
        .collect()
}

fn git() -> Command {
    let mut git = Command::new("git");
    git.current_dir(target::workspace());
    git
}

/// Standard output of a program that must do well.
fn said(command: &mut Command) -> anyhow::Result<String> {
    Ok(String::from_utf8(output(command)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_of_a_help_text_are_its_paragraph_of_commands() {
        let help = "Usage: x\n\nCommands:\n  load   Put load\n         on it\n  help   This\n\nOptions:\n  -a\n";
        assert_eq!(subcommands(help), ["load"]);
    }

    #[test]
    fn each_of_our_own_commands_has_its_lines() {
        let tasks = tasks(crate::USAGE);
        assert!(tasks["vm"].contains("--guest") && tasks["vm"].contains("fetch"));
        assert!(tasks["tidy"].contains("--rules") && !tasks["tidy"].contains("fuzz"));
    }
}
