//! The disk of a guest: a file of this machine with ext4 on it, which the guest has at `/state`.

use std::fs::File;
use std::path::Path;

use anyhow::Context as _;

use super::programs;
use crate::release::output;

const BYTES: u64 = 64 << 20;

/// Makes an empty one. What is laid out now need not be laid out by the guest.
pub(super) fn make(path: &Path) -> anyhow::Result<()> {
    let shown = || path.display().to_string();
    File::create(path)
        .and_then(|file| file.set_len(BYTES))
        .with_context(shown)?;
    let mut format = programs::command("mkfs.ext4")?;
    format.args(["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"]);
    output(format.arg(path)).map(drop)
}
