//! What the report's browser tests need beside Debian's packages, and the pictures they take.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::target;

/// Brings axe-core, in the version of the lock file, where it is not there yet.
pub(crate) fn install_axe() -> anyhow::Result<()> {
    let folder = folder();
    if is_newer(
        &folder.join("node_modules/.package-lock.json"),
        &folder.join("package-lock.json"),
    ) {
        return Ok(());
    }
    let status = Command::new("npm")
        .args(["ci", "--silent", "--no-audit", "--no-fund"])
        .args(["--prefer-offline", "--fetch-retries=5"])
        .current_dir(&folder)
        .status()
        .context("npm could not be started; the package `npm` has it")?;
    ensure!(
        status.success(),
        "npm ci in {} failed: {status}",
        folder.display()
    );
    Ok(())
}

/// Takes the documents' pictures of the report anew.
pub(crate) fn take_pictures() -> anyhow::Result<bool> {
    install_axe()?;
    let arguments = [
        "test",
        "--package",
        "report",
        "--test",
        "browser",
        "pictures",
    ];
    let status = target::cargo(&arguments)
        .env("TAKE_PICTURES", "1")
        .status()
        .context("cargo could not be started")?;
    Ok(status.success())
}

fn folder() -> PathBuf {
    target::workspace().join("crates/report/tests/browser")
}

fn is_newer(made: &Path, source: &Path) -> bool {
    let changed = |path: &Path| path.metadata().and_then(|found| found.modified()).ok();
    matches!((changed(made), changed(source)), (Some(made), Some(source)) if made >= source)
}
