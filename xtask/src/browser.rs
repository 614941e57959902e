//! Installs what the report's browser tests need beside Debian's packages, and takes their
//! pictures.

use std::process::Command;

use anyhow::Context as _;

use crate::{commands, target};

const FOLDER: &str = "crates/report/tests/browser";
/// The marker file is npm's own and shows when it last installed.
const INSTALL: &str = "test node_modules/.package-lock.json -nt package-lock.json || \
    npm ci --silent --no-audit --no-fund --prefer-offline --fetch-retries=5";

/// Installs axe-core in the version of the lock file, where it is not installed yet.
pub(crate) fn install_axe() -> anyhow::Result<()> {
    let mut install = Command::new("sh");
    install.args(["-c", INSTALL]);
    install.current_dir(target::workspace().join(FOLDER));
    commands::run(&mut install).with_context(|| format!("npm ci in {FOLDER} failed"))
}

/// Takes the documents' pictures of the report again.
pub(crate) fn take_pictures() -> anyhow::Result<bool> {
    install_axe()?;
    let test = "test --package report --test browser pictures";
    let words: Vec<&str> = test.split(' ').collect();
    let status = target::cargo(&words)
        .env("TAKE_PICTURES", "1")
        .status()
        .context("cargo could not be started")?;
    Ok(status.success())
}
