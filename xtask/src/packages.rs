//! The Debian packages that the tests drive: real peers, not imitations.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};

/// Package and a file that is there once it is installed.
const NEEDED: &[(&str, &str)] = &[
    ("nginx-light", "/usr/sbin/nginx"),
    ("wrk", "/usr/bin/wrk"),
    ("nftables", "/usr/sbin/nft"),
    ("curl", "/usr/bin/curl"),
    ("apache2-utils", "/usr/bin/ab"),
    ("nghttp2-client", "/usr/bin/h2load"),
    ("util-linux", "/usr/bin/lscpu"),
    ("iproute2", "/usr/sbin/ip"),
    ("ethtool", "/usr/sbin/ethtool"),
    ("pciutils", "/usr/bin/lspci"),
    ("groff-base", "/usr/bin/groff"),
    ("chromium", "/usr/bin/chromium"),
    // The letters in which the documents' pictures are set.
    (
        "fonts-liberation",
        "/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf",
    ),
    ("npm", "/usr/bin/npm"),
    ("nodejs", "/usr/bin/node"),
    ("g++", "/usr/bin/g++"),
    // The emulated machine, and what its guests are made with.
    ("qemu-system-x86", "/usr/bin/qemu-system-x86_64"),
    ("kmod", "/usr/sbin/depmod"),
    ("xz-utils", "/usr/bin/xz"),
    ("e2fsprogs", "/usr/sbin/mkfs.ext4"),
];

/// Installs what is missing; without root it prints the line to type and fails.
pub(crate) fn install_missing() -> anyhow::Result<()> {
    let mut missing = NEEDED.to_vec();
    missing.retain(|(_, file)| !Path::new(file).exists());
    if !is_root()? {
        bail!(
            "the tests of namespaces, levers and peers need root and would be skipped; run\n  \
             sudo apt-get update && sudo apt-get install {}\n  sudo cargo xtask test",
            names(NEEDED).join(" ")
        );
    }
    if missing.is_empty() {
        return Ok(());
    }
    apt_get(&["update", "-qq"])?;
    let mut install = vec!["install", "-y", "-qq", "--no-install-recommends"];
    install.extend(names(&missing));
    apt_get(&install)
}

fn names(packages: &[(&'static str, &str)]) -> Vec<&'static str> {
    packages.iter().map(|(name, _)| *name).collect()
}

fn apt_get(arguments: &[&str]) -> anyhow::Result<()> {
    let status = Command::new("apt-get")
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdout(std::process::Stdio::null())
        .status()
        .context("apt-get could not be started; the tests need a Debian machine")?;
    if !status.success() {
        bail!("apt-get {} failed: {status}", arguments.join(" "));
    }
    Ok(())
}

fn is_root() -> anyhow::Result<bool> {
    let status =
        std::fs::read_to_string("/proc/self/status").context("reading /proc/self/status")?;
    let uids = status
        .lines()
        .find_map(|line| line.strip_prefix("Uid:"))
        .unwrap_or_default();
    // Real, effective, saved, file system: the second is the one that permissions go by.
    Ok(uids.split_whitespace().nth(1) == Some("0"))
}
