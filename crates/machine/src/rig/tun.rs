//! A TUN device on a host of a rig, for a process that is on none: it enters each by a thread.

use std::io;
use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};
use sys::ethtool::Ethtool;
use sys::namespace::NetworkNamespace;
use sys::tun::{NODE, Nameless, Tun};

use super::build::equip;
use super::{cabling, wire};
use crate::errno::errno;

/// Packets that wait in a device until they are taken, in the place of the kernel's 500: 40 ms at
/// 100,000 a second.
const QUEUE_PACKETS: u32 = 4096;

const NOT_PERMITTED: i32 = 1;
const NO_SUCH_FILE: i32 = 2;
const NO_SUCH_ADDRESS: i32 = 6;
const ACCESS_DENIED: i32 = 13;
const NO_SUCH_DEVICE: i32 = 19;

/// Where a device is to be, told so that another process finds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    pub(super) holder: u32,
    /// The holder's, of the host's network namespace.
    pub(super) descriptor: i32,
    /// Of the device.
    pub(super) address: Ipv4Addr,
}

/// Why there is no TUN device.
#[derive(Debug, thiserror::Error)]
pub enum TunError {
    #[error("entering a host of the rig failed: {}", errno(.0))]
    Enter(io::Error),
    #[error("{NODE} could not be opened: {}; {}", errno(.0), advice_to_open(.0))]
    Open(io::Error),
    #[error("making a TUN device failed: {}; {}", errno(.0), advice_to_make(.0))]
    Make(io::Error),
    #[error("setting the TUN device up failed: {}", errno(.0))]
    SetUp(io::Error),
}

/// Makes a TUN device there and brings it up: with the address, a queue for bursts, and nothing
/// left to hardware. It goes when what is returned is dropped.
///
/// # Errors
/// Which step failed, and what the machine lacks.
pub fn make(site: &Site) -> Result<Tun, TunError> {
    let there = NetworkNamespace::held_by(site.holder, site.descriptor).map_err(TunError::Enter)?;
    // Of threads each is in a network namespace of its own choice; this one is gone afterwards.
    std::thread::scope(|scope| {
        let made = scope.spawn(|| {
            there.enter().map_err(TunError::Enter)?;
            make_here(site.address)
        });
        let panicked = |_| TunError::Enter(io::Error::other("a thread has panicked"));
        made.join().map_err(panicked).flatten()
    })
}

fn make_here(address: Ipv4Addr) -> Result<Tun, TunError> {
    let device = wire::DEVICE;
    let nameless = Nameless::open().map_err(TunError::Open)?;
    let tun = nameless.make(device).map_err(TunError::Make)?;
    let set_up = || {
        Ethtool::open()?.finish_packets_in_software(device)?;
        cabling::set_queue(device, QUEUE_PACKETS)?;
        equip(device, Some(address), false)?;
        cabling::await_devices()
    };
    set_up().map_err(TunError::SetUp)?;
    Ok(tun)
}

fn advice_to_open(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(NO_SUCH_FILE | NO_SUCH_DEVICE | NO_SUCH_ADDRESS) => {
            "the kernel needs its driver of TUN devices (CONFIG_TUN): `modprobe tun` as root, which \
             makes that file too; a container is given it by `--device /dev/net/tun`"
        }
        Some(NOT_PERMITTED | ACCESS_DENIED) => {
            "it is forbidden to this user, by its mode (`chmod 666 /dev/net/tun` as root) or by the \
             rules of a container (`--device /dev/net/tun`)"
        }
        _ => "see what the kernel says of it (dmesg)",
    }
}

fn advice_to_make(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(NOT_PERMITTED | ACCESS_DENIED) => {
            "a security module or a sandbox forbids it to this user: run it as root"
        }
        _ => {
            "/dev/net/tun may be another device's: as root, remove it and \
             `mknod -m 666 /dev/net/tun c 10 200`"
        }
    }
}
