//! The programs of this machine that make and run a guest, and the packages that have them.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, bail};

/// Every program, with its package.
const PROGRAMS: [(&str, &str); 22] = [
    ("apt-cache", "apt"),
    ("apt-get", "apt"),
    ("bc", "bc"),
    ("bison", "bison"),
    ("dash", "dash"),
    ("depmod", "kmod"),
    ("dpkg-deb", "dpkg"),
    ("ethtool", "ethtool"),
    ("flex", "flex"),
    ("gcc", "gcc"),
    ("ip", "iproute2"),
    ("ldd", "libc-bin"),
    ("make", "make"),
    ("mkfs.ext4", "e2fsprogs"),
    ("modprobe", "kmod"),
    ("nft", "nftables"),
    ("openssl", "openssl"),
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("tc", "iproute2"),
    ("tcpdump", "tcpdump"),
    ("xz", "xz-utils"),
    // The newer kernel is packed by it.
    ("zstd", "zstd"),
];

/// An error that names all that is missing, and what to type.
pub(super) fn check() -> anyhow::Result<()> {
    let missing = PROGRAMS.iter().filter(|(name, _)| path_of(name).is_err());
    let (names, mut packages): (Vec<&str>, Vec<&str>) = missing.copied().unzip();
    packages.sort_unstable();
    packages.dedup();
    if names.is_empty() {
        return Ok(());
    }
    bail!(
        "a guest needs {}, which this machine lacks; run\n  sudo apt-get install {}",
        names.join(", "),
        packages.join(" ")
    )
}

/// A program, also where only root's path has it.
pub(super) fn command(name: &str) -> anyhow::Result<Command> {
    path_of(name).map(Command::new)
}

/// Where a program stands.
pub(super) fn path_of(name: &str) -> anyhow::Result<PathBuf> {
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    path.push(":/usr/sbin:/sbin");
    let mut found = std::env::split_paths(&path).map(|folder| folder.join(name));
    let found = found.find(|path| path.is_file());
    found.with_context(|| format!("{name} is not on this machine"))
}
