//! The programs of this machine that the checks use, real peers and no imitations, and the Debian
//! packages that contain them.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, bail, ensure};

use crate::commands;

/// Packages that make and run a guest, each with its program where that has another name.
const GUEST_PACKAGES: &str = "apt=apt-get bc bison dash dpkg=dpkg-deb e2fsprogs=mkfs.ext4 ethtool flex gcc \
    iproute2=ip jq kmod=depmod libc-bin=ldd libelf-dev=/usr/include/libelf.h make nftables=nft openssl qemu-system-x86=qemu-system-x86_64 \
    tcpdump wireguard-tools=wg xz-utils=xz zstd";
/// Further packages that tests use: servers and clients, services, the programs that studies of
/// commands compare, and a browser with the fonts of the documents' pictures.
const TEST_PACKAGES: &str = "nginx-light=nginx wrk curl apache2-utils=ab iperf3 nghttp2-client=h2load util-linux=lscpu \
    openssh-client=ssh openssh-server=sshd strace pciutils=lspci groff-base=groff g++ \
    caddy golang-go=go h2o mariadb-client-core=my_print_defaults mariadb-server-core=mariadbd memcached \
    postgresql-15=postgres python3=/usr/bin/python3 redis-server \
    git pypy3 watchman openvpn rsync \
    chromium npm nodejs=node \
    fonts-liberation=/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf";
/// Folders of programs besides those of `PATH`.
const ELSEWHERE: &str = ":/usr/sbin:/sbin:/usr/lib/postgresql/15/bin:/usr/local/go/bin";

const INSTALL: &str = include_str!("install.sh");

/// Checks that this machine has all that a guest needs; otherwise an error names what it lacks and
/// the command that installs it.
pub(crate) fn check_for_guests() -> anyhow::Result<()> {
    let (programs, packages): (Vec<_>, Vec<_>) = missing(GUEST_PACKAGES).unzip();
    ensure!(
        packages.is_empty(),
        "a guest needs {}, which this machine lacks; run\n  sudo apt-get install {}",
        programs.join(", "),
        packages.join(" ")
    );
    Ok(())
}

/// Installs what is missing for any check. Without root, the error gives the commands to type.
pub(crate) fn install_missing() -> anyhow::Result<()> {
    let missing: Vec<&str> = missing(GUEST_PACKAGES)
        .chain(missing(TEST_PACKAGES))
        .map(|(_, package)| package)
        .collect();
    if !sys::user::is_root() {
        let all = entries(GUEST_PACKAGES).chain(entries(TEST_PACKAGES));
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
    let mut install = Command::new("sh");
    install.args(["-c", INSTALL, "sh"]).args(&missing);
    commands::run(&mut install).context("apt-get failed; the tests need a Debian machine")
}

/// The command of a program, which may be in root's path only.
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

/// The programs of a list, each with its package.
fn entries(list: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let words = list.split_whitespace();
    words.map(|word| match word.split_once('=') {
        Some((package, program)) => (program, package),
        None => (word, word),
    })
}
