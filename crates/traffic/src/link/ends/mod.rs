//! The ends of a link: what a direction takes packets from, and hands them to.

mod sockets;
mod tun;

use std::io;
use std::os::fd::AsFd;

pub(super) use sockets::Sockets;

/// An end of a link, at a device of a host.
pub(super) trait End {
    /// What comes from that host.
    type Near: Near;
    /// What goes to it.
    type Far: Far;

    /// # Errors
    /// What the kernel refuses.
    fn open(self) -> io::Result<(Self::Near, Self::Far)>;
}

/// A packet that came to the near end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Came<'a> {
    /// When, by the monotonic clock, ns.
    pub at_ns: u64,
    /// How much longer ago it may have been, for a reader that has not slept; one that was woken by it
    /// may have woken late, which is not counted, since nothing tells how late. 0 where the kernel
    /// tells when, ns.
    pub perhaps_earlier_ns: u64,
    /// Of its Ethernet frame without preamble and checksum.
    pub bytes: u32,
    /// What the far end takes; `None` for what no wire carries: longer than the MTU, or without its
    /// checksum.
    pub packet: Option<&'a [u8]>,
}

/// Where a direction takes packets from; readable when there are some.
pub(super) trait Near: AsFd + Send + 'static {
    /// Whether the kernel notes when a packet came, so that nobody need be there then.
    const KEEPS_TIME: bool;

    /// Hands the packets that are there to `each`, oldest first and at most so many; how many.
    fn take(&mut self, most: usize, each: impl FnMut(Came<'_>)) -> usize;

    /// To be told by whoever has slept until there might be some: of that time, and of how late the
    /// sleep ended, nothing is known, and what came in it counts as if it came now.
    fn woke(&mut self) {}

    /// Packets so far that were lost because they were not taken in time.
    ///
    /// # Errors
    /// What the kernel refuses.
    fn missed(&mut self) -> io::Result<u64>;
}

/// Where a direction hands packets to.
pub(super) trait Far: Send + 'static {
    /// Hands over the first of these packets; how many. An error is about the packet after them.
    ///
    /// # Errors
    /// Why the first of them is not taken.
    fn send<'a>(&mut self, packets: impl Iterator<Item = &'a [u8]>) -> io::Result<usize>;
}
