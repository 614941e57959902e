//! TUN devices: network devices whose packets a program reads and writes (tuntap.rst of the
//! kernel). One lives as long as a descriptor of it is open, however its holder ends.

mod receiver;

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;

use crate::netlink::{Family, Netlink};
use crate::{check, interface};

pub use receiver::Receiver;

/// Where programs ask for TUN devices.
pub const NODE: &str = "/dev/net/tun";

/// A device without a name yet, of the network namespace of the caller.
#[derive(Debug)]
pub struct Nameless(File);

impl Nameless {
    /// Opens [`NODE`].
    ///
    /// # Errors
    /// `ENOENT` without that node, `ENODEV` or `ENXIO` without the kernel's driver (`CONFIG_TUN`),
    /// `EACCES` or `EPERM` where it is forbidden.
    pub fn open() -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        let file = options.custom_flags(libc::O_NONBLOCK).open(NODE)?;
        Ok(Self(file))
    }

    /// Makes a device of that name, which is down and has no address. Packets go in and out as
    /// they are on a wire, without a header of Ethernet or of the driver.
    ///
    /// # Errors
    /// `EPERM` without `CAP_NET_ADMIN` over the network namespace, `EBUSY` where the name is taken,
    /// `ENOTTY` or `EINVAL` where [`NODE`] is another device's.
    pub fn make(self, name: &str) -> io::Result<Tun> {
        let mut request = interface::request(name);
        request.ifr_ifru.ifru_flags = TUN_WITHOUT_HEADER;
        // SAFETY: TUNSETIFF reads and writes an ifreq, which lives through the call.
        check(unsafe { libc::ioctl(self.0.as_raw_fd(), libc::TUNSETIFF, &raw mut request) })?;
        Ok(Tun {
            name: name.to_owned(),
            file: self.0,
            watch: Netlink::open(Family::Route)?,
        })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "both lie in the 16 bits of the field that they are for"
)]
const TUN_WITHOUT_HEADER: libc::c_short = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;

/// A TUN device.
#[derive(Debug)]
pub struct Tun {
    name: String,
    file: File,
    /// Of the device's network namespace, wherever it is used.
    watch: Netlink,
}

impl Tun {
    /// What the host sends by it, and the way in; either may be used by any thread.
    ///
    /// # Errors
    /// `EMFILE` at the limit of open files.
    pub fn split(self) -> io::Result<(Receiver, Sender)> {
        let sender = Sender(self.file.try_clone()?);
        Ok((Receiver::new(self.file, self.watch, &self.name), sender))
    }
}

/// Hands packets to the host that has the device.
#[derive(Debug)]
pub struct Sender(File);

impl Sender {
    /// Hands over a packet, from its IP header on.
    ///
    /// # Errors
    /// `EIO` while the device is down, `EINVAL` for what is no packet, `ENOMEM`.
    pub fn send(&mut self, packet: &[u8]) -> io::Result<()> {
        // All or nothing: a packet is never written in part.
        self.0.write(packet).map(drop)
    }
}
