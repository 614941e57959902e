//! Packet taps: sockets that are shown every packet of their network namespace.
#![expect(
    clippy::cast_possible_truncation,
    reason = "the kernel's constants fit the fields that they are for"
)]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;

use crate::check;

/// An idle tap as a DHCP client holds one: bound to all protocols of all devices, with a filter
/// that keeps nothing. What it costs is that the kernel copies the head of every packet for it.
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
        // Protocol 0 sees nothing yet, so that no packet slips in before the filter is there.
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: no pointers.
        let fd = check(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
        // SAFETY: `fd` was just opened and nobody else owns it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let tap = Self {
            file: File::from(fd),
        };
        tap.keep_nothing()?;
        tap.see_everything()?;
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
        let mut return_zero = [libc::sock_filter {
            code: 0x06,
            jt: 0,
            jf: 0,
            k: 0,
        }];
        let program = libc::sock_fprog {
            len: 1,
            filter: return_zero.as_mut_ptr(),
        };
        let length = libc::socklen_t::try_from(size_of::<libc::sock_fprog>()).unwrap_or(0);
        // SAFETY: `program` and the instruction it points at outlive the call, which copies them.
        check(unsafe {
            libc::setsockopt(
                self.file.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_ATTACH_FILTER,
                (&raw const program).cast(),
                length,
            )
        })?;
        Ok(())
    }

    fn see_everything(&self) -> io::Result<()> {
        // SAFETY: an all-zero sockaddr_ll is valid; interface 0 means all of them.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        let length = libc::socklen_t::try_from(size_of::<libc::sockaddr_ll>()).unwrap_or(0);
        // SAFETY: `address` is a valid socket address of `length` bytes that outlives the call.
        check(unsafe { libc::bind(self.file.as_raw_fd(), (&raw const address).cast(), length) })?;
        Ok(())
    }
}
