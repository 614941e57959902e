//! `cargo xtask release`: makes what users receive, in `dist/`: one static program, a Debian
//! package with manual pages and completions, and checksums.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Context as _;

use crate::commands::{self, output};
use crate::target::{self, TRIPLE};

const LAY_OUT: &str = include_str!("release.sh");

/// The folder of a release, and its Debian package.
pub(crate) struct Release {
    pub(crate) folder: PathBuf,
    pub(crate) package: PathBuf,
}

/// Makes a release from scratch and prints its files.
pub(crate) fn run() -> anyhow::Result<bool> {
    let _claim = target::claim()?;
    let release = make()?;
    let sums = std::fs::read_to_string(release.folder.join("SHA256SUMS"))?;
    println!("in {}:\n{}", release.folder.display(), sums.trim_end());
    Ok(true)
}

/// Makes a release from scratch. The target directory must be claimed.
pub(crate) fn make() -> anyhow::Result<Release> {
    let program = static_program()?;
    let version = env!("CARGO_PKG_VERSION");
    let mut lay_out = Command::new("sh");
    lay_out.args(["-c", LAY_OUT, "sh"]).arg(program);
    output(
        lay_out
            .args([version, TRIPLE])
            .current_dir(target::workspace()),
    )?;
    let folder = target::workspace().join("dist");
    let package = folder.join(format!("linerate_{version}_amd64.deb"));
    Ok(Release { folder, package })
}

/// Builds the program with the C library linked in, without symbols.
fn static_program() -> anyhow::Result<PathBuf> {
    let what = ["build", "--quiet", "--package", "linerate"];
    // With `--target`, macros and build scripts keep the shared C library that they need.
    let how = ["--target", TRIPLE, "--profile", target::PACKAGED];
    let mut build = target::cargo(&[what, how].concat());
    // Cargo ignores a profile's `strip` where a package has settings of its own in that profile.
    let flags = "-C target-feature=+crt-static -C strip=symbols";
    commands::run(build.env("RUSTFLAGS", flags)).context("the static build failed")?;
    let folder = target::directory().join(TRIPLE).join(target::PACKAGED);
    let program = folder.join("linerate");
    Ok(program)
}
