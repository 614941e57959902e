//! The programs of this machine that the checks use, real peers and no imitations, and the Debian packages
//! that have them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail, ensure};

/// What makes and runs a guest: packages, each with its program where that has another name.
const OF_GUESTS: &str = "apt=apt-get bc bison dash dpkg=dpkg-deb e2fsprogs=mkfs.ext4 ethtool flex gcc \
    iproute2=ip jq kmod=depmod libc-bin=ldd libelf-dev=/usr/include/libelf.h make nftables=nft openssl qemu-system-x86=qemu-system-x86_64 \
    tcpdump xz-utils=xz zstd";
/// What tests drive besides: servers and clients, services, what studies of commands compare, a browser with the
/// letters in which the documents' pictures are set.
const OF_TESTS: &str = "nginx-light=nginx wrk curl apache2-utils=ab nghttp2-client=h2load util-linux=lscpu \
    openssh-client=ssh openssh-server=sshd strace pciutils=lspci groff-base=groff g++ \
    caddy golang-go=go h2o mariadb-client-core=my_print_defaults mariadb-server-core=mariadbd memcached \
    postgresql-15=postgres python3=/usr/bin/python3 redis-server \
    git pypy3 watchman \
    chromium npm nodejs=node \
    fonts-liberation=/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf";
/// Where programs are besides the folders of `PATH`.
const ELSEWHERE: &str = ":/usr/sbin:/sbin:/usr/lib/postgresql/15/bin:/usr/local/go/bin";

/// Asked by packages before they start a daemon, by invoke-rc.d(8) and deb-systemd-invoke(1p);
/// 101 means that they may not.
const POLICY: &str = "/usr/sbin/policy-rc.d";
const POLICY_TEXT: &str = "#!/bin/sh\nexit 101\n";

/// An error that names all that a guest needs and this machine lacks, and what to type.
pub(crate) fn check_for_guests() -> anyhow::Result<()> {
    let (programs, packages): (Vec<_>, Vec<_>) = missing(OF_GUESTS).unzip();
    ensure!(
        packages.is_empty(),
        "a guest needs {}, which this machine lacks; run\n  sudo apt-get install {}",
        programs.join(", "),
        packages.join(" ")
    );
    Ok(())
}

/// Installs what is missing for any check; without root it prints the line to type and fails.
pub(crate) fn install_missing() -> anyhow::Result<()> {
    let missing: Vec<&str> = missing(OF_GUESTS)
        .chain(missing(OF_TESTS))
        .map(|(_, package)| package)
        .collect();
    if !sys::user::is_root() {
        let all = entries(OF_GUESTS).chain(entries(OF_TESTS));
        let all: Vec<&str> = all.map(|(_, package)| package).collect();
        bail!(
            "the tests of namespaces, levers and peers need root and would be skipped; run\n  \
             sudo apt-get update && sudo apt-get install {}\n  sudo cargo xtask test",
            all.join(" ")
        );
    }
    if missing.is_empty() {
        return Ok(());
    }
    apt_get(&["update", "-qq"])?;
    let _quiet = NoDaemons::ask()?;
    let install = ["install", "-y", "-qq", "--no-install-recommends"];
    apt_get(&[&install[..], &missing].concat())
}

/// A program, also where only root's path has it.
pub(crate) fn command(name: &str) -> anyhow::Result<Command> {
    let found = path_of(name).map(Command::new);
    found.with_context(|| format!("{name} is not on this machine"))
}

fn path_of(name: &str) -> Option<PathBuf> {
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    path.push(ELSEWHERE);
    let mut found = std::env::split_paths(&path).map(|folder| folder.join(name));
    found.find(|path| path.is_file())
}

fn missing(list: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    entries(list).filter(|(program, _)| path_of(program).is_none())
}

/// Programs, each with its package.
fn entries(list: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let words = list.split_whitespace();
    words.map(|word| match word.split_once('=') {
        Some((package, program)) => (program, package),
        None => (word, word),
    })
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

fn apt_get(arguments: &[&str]) -> anyhow::Result<()> {
    let status = Command::new("apt-get")
        // A machine that was just started may be looking for updates by itself.
        .args(["-o", "DPkg::Lock::Timeout=600", "-o", "Acquire::Retries=5"])
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdout(std::process::Stdio::null())
        .status()
        .context("apt-get could not be started; the tests need a Debian machine")?;
    let shown = arguments.join(" ");
    ensure!(status.success(), "apt-get {shown} failed: {status}");
    Ok(())
}
