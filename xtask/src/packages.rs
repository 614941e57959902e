//! The programs of this machine that the checks use, real peers and no imitations, and the Debian packages
//! that have them.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, bail, ensure};

use crate::commands;

/// What makes and runs a guest: packages, each with its program where that has another name.
const OF_GUESTS: &str = "apt=apt-get bc bison dash dpkg=dpkg-deb e2fsprogs=mkfs.ext4 ethtool flex gcc \
    iproute2=ip jq kmod=depmod libc-bin=ldd libelf-dev=/usr/include/libelf.h make nftables=nft openssl qemu-system-x86=qemu-system-x86_64 \
    tcpdump wireguard-tools=wg xz-utils=xz zstd";
/// What tests drive besides: servers and clients, services, what studies of commands compare, a browser with the
/// letters in which the documents' pictures are set.
const OF_TESTS: &str = "nginx-light=nginx wrk curl apache2-utils=ab iperf3 nghttp2-client=h2load util-linux=lscpu \
    openssh-client=ssh openssh-server=sshd strace pciutils=lspci groff-base=groff g++ \
    caddy golang-go=go h2o mariadb-client-core=my_print_defaults mariadb-server-core=mariadbd memcached \
    postgresql-15=postgres python3=/usr/bin/python3 redis-server \
    git pypy3 watchman openvpn rsync \
    chromium npm nodejs=node \
    fonts-liberation=/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf";
/// Where programs are besides the folders of `PATH`.
const ELSEWHERE: &str = ":/usr/sbin:/sbin:/usr/lib/postgresql/15/bin:/usr/local/go/bin";

const INSTALL: &str = include_str!("install.sh");

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
    let mut install = Command::new("sh");
    install.args(["-c", INSTALL, "sh"]).args(&missing);
    commands::run(&mut install).context("apt-get failed; the tests need a Debian machine")
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
