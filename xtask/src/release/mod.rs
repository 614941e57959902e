//! `cargo xtask release`: what a user can be given, in `dist/`. One static program, a Debian
//! package with manual pages and completions, and checksums.

mod deb;
mod elf;
mod licences;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::target::{self, TRIPLE};

/// The only machines that a release is made for, as Debian calls them.
const DEBIAN_ARCHITECTURE: &str = "amd64";
const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

/// Where the files of a release are.
pub(crate) struct Release {
    pub(crate) folder: PathBuf,
    pub(crate) package: PathBuf,
}

/// Makes everything anew and prints what there is.
pub(crate) fn run() -> anyhow::Result<bool> {
    let _claim = target::claim()?;
    let release = make()?;
    let sums = std::fs::read_to_string(release.folder.join("SHA256SUMS"))?;
    println!("in {}:\n{}", release.folder.display(), sums.trim_end());
    Ok(true)
}

/// Makes everything anew. The target directory must be claimed.
pub(crate) fn make() -> anyhow::Result<Release> {
    let folder = target::workspace().join("dist");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    let program = folder.join("linerate");
    std::fs::copy(static_program("release")?, &program)?;
    write_manual_and_completions(&program, &folder)?;
    copy_documents(&folder)?;
    let package = deb::build(&folder)?;
    write_checksums(&folder)?;
    Ok(Release { folder, package })
}

/// The program with the C library inside, without symbols, in one of cargo's profiles. The target
/// directory must be claimed.
pub(crate) fn static_program(profile: &str) -> anyhow::Result<PathBuf> {
    static_build(profile, &["--package", "linerate"], "linerate")
}

/// Likewise an example of the crate that speaks to the kernel: a tool for a guest.
pub(crate) fn static_tool(profile: &str, name: &str) -> anyhow::Result<PathBuf> {
    let what = ["--package", "sys", "--example", name];
    static_build(profile, &what, &format!("examples/{name}"))
}

/// Builds something, which is put at that place below the profile's folder.
fn static_build(profile: &str, what: &[&str], place: &str) -> anyhow::Result<PathBuf> {
    // With a target given, macros and build scripts keep the shared C library that they need.
    let how = ["--quiet", "--target", TRIPLE, "--profile", profile];
    let status = target::cargo(&[&["build"], what, &how].concat())
        .env("RUSTFLAGS", "-C target-feature=+crt-static")
        .env(strip_variable(profile), "symbols")
        .status()
        .context("cargo could not be started")?;
    ensure!(status.success(), "the static build failed");
    let program = target::directory().join(TRIPLE).join(profile).join(place);
    ensure!(
        elf::is_static(&std::fs::read(&program)?)?,
        "{} needs a loader: it is not static",
        program.display()
    );
    Ok(program)
}

fn strip_variable(profile: &str) -> String {
    format!("CARGO_PROFILE_{}_STRIP", profile.to_uppercase())
}

/// The program knows its own: they are made from the same declaration as its help.
fn write_manual_and_completions(program: &Path, folder: &Path) -> anyhow::Result<()> {
    let mut manual = Command::new(program);
    manual.args(["man", "--out"]).arg(folder.join("man"));
    output(&mut manual)?;
    let completions = folder.join("completions");
    std::fs::create_dir(&completions)?;
    for shell in SHELLS {
        let text = output(Command::new(program).args(["completions", shell]))?;
        std::fs::write(completions.join(shell), text)?;
    }
    Ok(())
}

fn copy_documents(folder: &Path) -> anyhow::Result<()> {
    for name in ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "CHANGELOG.md"] {
        std::fs::copy(target::workspace().join(name), folder.join(name))
            .with_context(|| name.to_owned())?;
    }
    std::fs::write(folder.join("THIRD-PARTY"), licences::list()?)?;
    Ok(())
}

/// As `sha256sum --check SHA256SUMS` reads them.
fn write_checksums(folder: &Path) -> anyhow::Result<()> {
    let mut find = Command::new("find");
    find.args([".", "-type", "f", "-printf", "%P\\n"]);
    let files = String::from_utf8(output(find.current_dir(folder))?)?;
    let mut files: Vec<&str> = files.lines().collect();
    files.sort_unstable();
    let sums = output(Command::new("sha256sum").args(files).current_dir(folder))?;
    std::fs::write(folder.join("SHA256SUMS"), sums)?;
    Ok(())
}

/// What a program prints; an error with its own words when it fails.
pub(crate) fn output(command: &mut Command) -> anyhow::Result<Vec<u8>> {
    let program = command.get_program().display().to_string();
    let output = command.output().with_context(|| program.clone())?;
    let words = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "{program} ended with {}: {words}",
        output.status
    );
    Ok(output.stdout)
}

/// The version that the workspace has.
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
