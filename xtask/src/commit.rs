//! The commit that is checked, as git names it.

use std::process::Command;

use crate::target::workspace;

/// The full hash; `None` outside a git checkout.
pub(crate) fn hash() -> Option<String> {
    git(&["rev-parse", "HEAD"])
}

/// Whether files that git knows differ from the commit.
pub(crate) fn is_changed() -> bool {
    git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|files| !files.is_empty())
}

/// How many commits came after that one; `None` where git does not know it.
pub(crate) fn behind(hash: &str) -> Option<u32> {
    git(&["rev-list", "--count", &format!("{hash}..HEAD")])?
        .parse()
        .ok()
}

/// Whether what lies in those folders is another by now than it was then; `None` where git does not
/// know that commit.
pub(crate) fn changed_since(hash: &str, folders: &[&str]) -> Option<bool> {
    let names = ["diff", "--name-only", hash, "HEAD", "--"];
    git(&[&names, folders].concat()).map(|files| !files.is_empty())
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(workspace())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    output.status.success().then(|| text.trim().to_owned())
}
