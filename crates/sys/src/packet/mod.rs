//! Packet sockets: whole frames to and from network devices, and taps that only watch.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "the kernel's constants and numbers of devices fit the fields that they are for"
)]

mod receiver;
mod ring;
mod sender;
mod transmit;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;

use rustix::net::{AddressFamily, SocketType, netdevice};

use crate::check;
use crate::classic_bpf::{self, FilterInstruction};
use crate::socket::{self, set_option};

pub use receiver::{Arrival, Frames, Receiver};
pub use sender::{MOST_AT_ONCE, Sender};
pub use transmit::{TransmitRing, expect_segments, outlet};

/// An idle tap as a DHCP client holds one: bound to all protocols of all devices, with a filter
/// that keeps nothing. Its cost is that the kernel copies the head of every packet for it.
#[derive(Debug)]
pub struct Tap {
    file: File,
}

impl Tap {
    /// Opens a tap in the network namespace of the caller.
    ///
    /// # Errors
    /// `EPERM` without `CAP_NET_RAW` there.
    pub fn open() -> io::Result<Self> {
        let tap = Self {
            file: File::from(open()?),
        };
        tap.keep_nothing()?;
        bind(&tap.file, ALL_DEVICES, libc::ETH_P_ALL)?;
        Ok(tap)
    }

    /// The socket's inode, by which `/proc/net/packet` lists it.
    ///
    /// # Errors
    /// None are known.
    pub fn inode(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.ino())
    }

    fn keep_nothing(&self) -> io::Result<()> {
        let nothing = [FilterInstruction::returns(0)];
        classic_bpf::attach(self.file.as_fd(), libc::SO_ATTACH_FILTER, &nothing)
    }
}

/// For [`bind`]: no device in particular.
const ALL_DEVICES: u32 = 0;
/// For [`bind`]: a socket that only sends.
const NO_PROTOCOL: libc::c_int = 0;

/// Opens a packet socket that receives nothing yet, so that no packet slips in before it is set up.
fn open() -> io::Result<OwnedFd> {
    socket::open(AddressFamily::PACKET, SocketType::RAW, None)
}

/// Binds a socket to a device of the caller's network namespace, for packets of one protocol.
fn bind(socket: impl AsFd, device: u32, protocol: libc::c_int) -> io::Result<()> {
    // SAFETY: an all-zero sockaddr_ll is valid; interface 0 means all of them.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (protocol as u16).to_be();
    address.sll_ifindex = device as libc::c_int;
    let length = libc::socklen_t::try_from(size_of::<libc::sockaddr_ll>()).unwrap_or(0);
    // SAFETY: `address` is a valid socket address of `length` bytes that outlives the call.
    check(unsafe {
        libc::bind(
            socket.as_fd().as_raw_fd(),
            (&raw const address).cast(),
            length,
        )
    })?;
    Ok(())
}

/// The number of a device of the caller's network namespace.
fn device(name: &str) -> io::Result<u32> {
    Ok(netdevice::name_to_index(socket::control()?, name)?)
}

/// The longest packet that a device of the caller's network namespace accepts, without its Ethernet
/// header, bytes.
///
/// # Errors
/// `ENODEV` for a device that is not there.
pub fn mtu(name: &str) -> io::Result<usize> {
    let mut request = crate::interface::request(name);
    let socket = socket::control()?;
    // SAFETY: `request` is a valid ifreq that lives through the call, which writes within it.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFMTU, &raw mut request) })?;
    // SAFETY: SIOCGIFMTU has written the MTU (netdevice(7)), and any bits are an int.
    let mtu = unsafe { request.ifr_ifru.ifru_mtu };
    usize::try_from(mtu).map_err(io::Error::other)
}

fn set(socket: &OwnedFd, option: libc::c_int, value: &impl Copy) -> io::Result<()> {
    set_option(socket.as_fd(), libc::SOL_PACKET, option, value)
}
