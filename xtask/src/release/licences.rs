//! The crates that are linked into the program, with their licences.

use std::collections::BTreeSet;

use super::output;
use crate::target::{self, TRIPLE};

/// One line a crate: name, version, licence, and where its source and licence texts are.
pub(super) fn list() -> anyhow::Result<String> {
    let tree = [
        "tree",
        "--package",
        "linerate",
        "--edges",
        "normal",
        "--prefix",
        "none",
        "--target",
        TRIPLE,
        "--format",
        "{p}\t{l}\t{r}",
    ];
    let text = String::from_utf8(output(&mut target::cargo(&tree))?)?;
    let lines: BTreeSet<&str> = text
        .lines()
        // Ours stand with their path; a crate met before ends in a star.
        .filter(|line| !line.contains(" (/"))
        .map(|line| line.trim_end_matches(" (*)"))
        .collect();
    let head = "The program also holds the GNU C Library (LGPL-2.1-or-later), Rust's standard library (MIT OR\n\
                Apache-2.0), and these crates:\n\n";
    Ok(lines
        .into_iter()
        .fold(head.to_owned(), |text, line| text + line + "\n"))
}
