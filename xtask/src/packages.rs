//! The Debian packages that the tests drive: real peers, not imitations.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
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
    ("openssh-client", "/usr/bin/ssh"),
    ("openssh-server", "/usr/sbin/sshd"),
    ("openssl", "/usr/bin/openssl"),
    ("ethtool", "/usr/sbin/ethtool"),
    ("strace", "/usr/bin/strace"),
    ("tcpdump", "/usr/bin/tcpdump"),
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
    // The programs of services.
    ("caddy", "/usr/bin/caddy"),
    ("golang-go", "/usr/bin/go"),
    ("h2o", "/usr/bin/h2o"),
    ("mariadb-client-core", "/usr/bin/my_print_defaults"),
    ("mariadb-server-core", "/usr/sbin/mariadbd"),
    ("memcached", "/usr/bin/memcached"),
    ("postgresql-15", "/usr/lib/postgresql/15/bin/postgres"),
    ("python3", "/usr/bin/python3"),
    ("redis-server", "/usr/bin/redis-server"),
    // The allocators that programs are given; the files are elsewhere for each architecture.
    ("libjemalloc2", "/usr/share/doc/libjemalloc2"),
    ("libmimalloc2.0", "/usr/share/doc/libmimalloc2.0"),
    (
        "libtcmalloc-minimal4",
        "/usr/share/doc/libtcmalloc-minimal4",
    ),
    // What the studies of commands compare.
    ("git", "/usr/bin/git"),
    ("pypy3", "/usr/bin/pypy3"),
    ("watchman", "/usr/bin/watchman"),
    // The emulated machine, and what its guests are made with.
    ("qemu-system-x86", "/usr/bin/qemu-system-x86_64"),
    ("kmod", "/usr/sbin/depmod"),
    ("bc", "/usr/bin/bc"),
    ("bison", "/usr/bin/bison"),
    ("flex", "/usr/bin/flex"),
    ("make", "/usr/bin/make"),
    ("xz-utils", "/usr/bin/xz"),
    ("zstd", "/usr/bin/zstd"),
    ("e2fsprogs", "/usr/sbin/mkfs.ext4"),
];

/// Where a program serves as well that its package would put elsewhere.
const ELSEWHERE: &[(&str, &str)] = &[("golang-go", "/usr/local/go/bin/go")];

/// Asked by packages before they start a daemon, by invoke-rc.d(8) and deb-systemd-invoke(1p);
/// 101 means that they may not.
const POLICY: &str = "/usr/sbin/policy-rc.d";
const POLICY_TEXT: &str = "#!/bin/sh\nexit 101\n";

/// Installs what is missing; without root it prints the line to type and fails.
pub(crate) fn install_missing() -> anyhow::Result<()> {
    let mut missing = NEEDED.to_vec();
    missing.retain(|(package, file)| !is_there(package, file));
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
    let _quiet = NoDaemons::ask()?;
    let mut install = vec!["install", "-y", "-qq", "--no-install-recommends"];
    install.extend(names(&missing));
    apt_get(&install)
}

fn is_there(package: &str, file: &str) -> bool {
    let elsewhere = ELSEWHERE.iter().filter(|(name, _)| *name == package);
    let mut files = elsewhere.map(|(_, file)| *file).chain([file]);
    files.any(|file| Path::new(file).exists())
}

/// While it lives, packages of servers are installed without being started. An administrator who
/// has a policy of his own keeps it.
struct NoDaemons {
    is_ours: bool,
}

impl NoDaemons {
    fn ask() -> anyhow::Result<Self> {
        let is_ours = !Path::new(POLICY).exists();
        if is_ours {
            let executable = fs::Permissions::from_mode(0o755);
            fs::write(POLICY, POLICY_TEXT)
                .and_then(|()| fs::set_permissions(POLICY, executable))
                .with_context(|| format!("writing {POLICY}"))?;
        }
        Ok(Self { is_ours })
    }
}

impl Drop for NoDaemons {
    fn drop(&mut self) {
        if self.is_ours {
            let _ = fs::remove_file(POLICY);
        }
    }
}

fn names(packages: &[(&'static str, &str)]) -> Vec<&'static str> {
    packages.iter().map(|(name, _)| *name).collect()
}

fn apt_get(arguments: &[&str]) -> anyhow::Result<()> {
    let status = Command::new("apt-get")
        // A machine that was just started may be looking for updates by itself.
        .args(["-o", "DPkg::Lock::Timeout=600", "-o", "Acquire::Retries=5"])
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
