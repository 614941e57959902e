//! Reads the repository: its files and its history.

use std::process::Command;

use anyhow::Context as _;

use super::tree::Tree;
use crate::commands::said;
use crate::target;

/// How many commits are checked, from the newest on.
const COMMITS: &str = "100";

/// Reads everything that the rules check.
pub(super) fn tree() -> anyhow::Result<Tree> {
    let mut tree = Tree::default();
    read_files(&mut tree)?;
    tree.commits = commits();
    Ok(tree)
}

/// Reads every file that git tracks, or would not ignore.
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
        // A file that was deleted is still known to git until that is staged.
        if path.is_file() {
            let bytes = std::fs::read(&path).with_context(|| name.to_owned())?;
            tree.add(name, &bytes)?;
        }
    }
    Ok(())
}

/// Hash and subject of the newest commits; none without a history.
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
