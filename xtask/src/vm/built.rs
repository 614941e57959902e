//! The kernel that keeps the time of interrupts apart, built from Debian's source: some minutes, once
//! for each version of it.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use super::apt::{Package, World};
use super::kernel::VMLINUX;
use super::programs;
use crate::release::output;

const SOURCE: &str = "linux-source-6.1";
/// What is set; all else is as small as it can be.
const OPTIONS: &str = include_str!("irq-time.config");
/// Stands beside the kernel, and says what it was built with.
const BUILT_WITH: &str = "irq-time.config";

/// The package of the source.
pub(super) fn source(world: &World) -> anyhow::Result<Package> {
    world.package(SOURCE)
}

/// Whether the kernel in a folder was built with the options of now.
pub(super) fn is_current(folder: &Path) -> bool {
    fs::read_to_string(folder.join(BUILT_WITH)).is_ok_and(|options| options == OPTIONS)
}

/// Builds the kernel, and leaves nothing else of the package.
pub(super) fn build(folder: &Path) -> anyhow::Result<()> {
    let tree = folder.join("tree");
    unpack(&folder.join(format!("usr/src/{SOURCE}.tar.xz")), &tree)?;
    eprintln!("building {SOURCE}, for some minutes");
    let options = folder.join(BUILT_WITH);
    fs::write(&options, OPTIONS).with_context(|| options.display().to_string())?;
    let assignment = format!("KCONFIG_ALLCONFIG={}", options.display());
    output(make(&tree)?.args([&assignment, "allnoconfig"]))?;
    let jobs = format!("-j{}", std::thread::available_parallelism()?);
    output(make(&tree)?.args([&jobs, VMLINUX]))?;
    let release = String::from_utf8(output(make(&tree)?.arg("kernelrelease"))?)?;
    fs::create_dir_all(folder.join("lib/modules").join(release.trim()))?;
    fs::rename(tree.join(VMLINUX), folder.join(VMLINUX))?;
    fs::remove_dir_all(&tree)?;
    Ok(fs::remove_dir_all(folder.join("usr"))?)
}

fn unpack(archive: &Path, into: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(into).with_context(|| into.display().to_string())?;
    let mut tar = Command::new("tar");
    tar.args(["--extract", "--strip-components=1", "--file"]);
    output(tar.arg(archive).arg("--directory").arg(into)).map(drop)
}

fn make(tree: &Path) -> anyhow::Result<Command> {
    let mut make = programs::command("make")?;
    // Nothing that this program was given is meant for it.
    for name in [
        "MAKEFLAGS",
        "MFLAGS",
        "ARCH",
        "CROSS_COMPILE",
        "KCONFIG_CONFIG",
    ] {
        make.env_remove(name);
    }
    make.args(["--silent", "--directory"]).arg(tree);
    Ok(make)
}
