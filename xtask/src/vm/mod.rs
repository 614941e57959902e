//! `cargo xtask vm`: boots a Debian kernel in an emulated machine whose network cards can be tuned,
//! whose modules can be loaded, and whose power can be cut.

mod guest;
mod initramfs;
mod machine;
mod order;
pub(crate) mod proofs;
mod session;
mod store;

use std::process::ExitCode;

use anyhow::bail;
use sys::stop::{Again, StopSignal};

pub(crate) use guest::usual as usual_guest;
use guest::{BUSYBOX, GUESTS, Kernel};
pub(crate) use initramfs::Errand;
pub(crate) use machine::{Cut, Sinks};
use order::GuestOrder;
pub(crate) use session::Session;
use store::Store;

use crate::stage::{Counts, Stages};
use crate::{packages, target};

const USAGE: &str = "\
usage: cargo xtask vm run [OPTIONS] -- COMMAND...
       cargo xtask vm check
       cargo xtask vm fetch

A guest boots, runs COMMAND, and ends; what it prints and its exit code become ours. It has busybox,
ip, tc, ethtool, jq, nft, openssl, tcpdump, wg, this checkout's linerate, two e1000e cards on one wire (eth0, eth1), and a disk
at /state. It reaches no network, and needs neither root nor /dev/kvm.

  run       one boot
  check     what must hold in each guest; a stage of `cargo xtask test`
  fetch     the newest kernels from Debian; otherwise those that are there are used

  --guest NAME           6.1: Debian's kernel; newer: that of its backports; irq-time: Debian's
                         source built to keep the time of interrupts apart (no card, no modules);
                         queues: 6.1 with four processors and two virtio cards of four queues [6.1]
  --put HERE[:THERE]     a file for the guest [into /root, where COMMAND starts]
  --get THERE[:HERE]     a file out of it, absolute or from /root [into this folder]
  --append OPTIONS       for the kernel's command line
  --disk FILE            a disk that stays for the next boot, made where it is not there [one that goes]
  --cut-at TEXT          cut the power when a line of the output holds TEXT: what the disk was given is on
                         it, what the guest's kernel still held is lost
  --timeout SECONDS      for the boot [120]

Kernels and busybox are kept, unpacked and never installed, in linerate/vm of the user's cache.
LINERATE_DEBIAN_MIRROR names a mirror other than http://deb.debian.org.";

/// `cargo xtask vm …`.
pub(crate) fn run(arguments: &[&str]) -> anyhow::Result<ExitCode> {
    match arguments {
        ["check"] => check(),
        ["fetch"] => fetch(),
        ["run", rest @ ..] => carry_out(&GuestOrder::parse(rest)?),
        [] | ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(ExitCode::SUCCESS)
        }
        _ => bail!("`vm {}` is no command\n\n{USAGE}", arguments.join(" ")),
    }
}

fn carry_out(order: &GuestOrder) -> anyhow::Result<ExitCode> {
    let _stop = StopSignal::listen(Again::Kills)?;
    Ok(ExitCode::from(session::carry_out(order)?))
}

fn check() -> anyhow::Result<ExitCode> {
    let _stop = StopSignal::listen(Again::Kills)?;
    let _claim = target::claim()?;
    let (mut stages, mut counts) = (Stages::default(), Counts::default());
    proofs::run(&mut stages, &mut counts, true)?;
    Ok(stages.close(&counts))
}

fn fetch() -> anyhow::Result<ExitCode> {
    packages::check_for_guests()?;
    let store = Store::open()?;
    store.fetch(&BUSYBOX)?;
    for guest in &GUESTS {
        let kernel = Kernel::of(guest, store.fetch(&guest.kernel)?)?;
        println!("{:<6} Linux {}", guest.name, kernel.release);
    }
    Ok(ExitCode::SUCCESS)
}
