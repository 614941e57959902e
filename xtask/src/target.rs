//! Where cargo puts what it builds.

use std::path::PathBuf;

use anyhow::{Context as _, ensure};

/// The release build of the program, which must be there.
pub(crate) fn linerate() -> anyhow::Result<PathBuf> {
    // This program stands in the same target directory, in the folder of its own profile.
    let own = std::env::current_exe().context("finding this program")?;
    let target = own.ancestors().nth(2).context("the target directory")?;
    let path = target.join("release/linerate");
    ensure!(
        path.exists(),
        "{} is not there; `cargo build --release` makes it",
        path.display()
    );
    Ok(path)
}
