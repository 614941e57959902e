//! Reads the repository in: its files and its history.

use std::process::Command;

use anyhow::Context as _;

use super::tree::Tree;
use crate::commands::said;
use crate::target;

/// How far back commits are looked at.
const COMMITS: &str = "100";

/// Everything that the rules look at.
pub(super) fn tree() -> anyhow::Result<Tree> {
    let mut tree = Tree::default();
    read_files(&mut tree)?;
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
