//! An end by a TUN device: a packet is read and written by a system call each.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use sys::clock;
use sys::tun::{Receiver, Sender, Tun};

use super::{Came, End, Far, Near};

/// Counted with each packet, though the device has none, so that a rate is the same over any link.
const ETHERNET_HEADER_BYTES: u32 = 14;

/// What a host sends by such a device. The kernel does not tell when.
#[derive(Debug)]
pub(in crate::link) struct Queue {
    receiver: Receiver,
    /// What is read was not there at this time, or its reader had slept until then, ns.
    looked_ns: u64,
}

impl End for Tun {
    type Near = Queue;
    type Far = Sender;

    fn open(self) -> io::Result<(Queue, Sender)> {
        let (receiver, sender) = self.split()?;
        let looked_ns = clock::monotonic_ns();
        let queue = Queue {
            receiver,
            looked_ns,
        };
        Ok((queue, sender))
    }
}

impl Near for Queue {
    const KEEPS_TIME: bool = false;

    fn take(&mut self, most: usize, mut each: impl FnMut(Came<'_>)) -> usize {
        let looked_ns = self.looked_ns;
        let taken = self.receiver.take(most, |packet| {
            let length = u32::try_from(packet.len()).unwrap_or(u32::MAX);
            let at_ns = clock::monotonic_ns();
            each(Came {
                at_ns,
                perhaps_earlier_ns: at_ns - looked_ns,
                bytes: length.saturating_add(ETHERNET_HEADER_BYTES),
                packet: Some(packet),
            });
        });
        if taken < most {
            self.looked_ns = clock::monotonic_ns();
        }
        taken
    }

    fn woke(&mut self) {
        self.looked_ns = clock::monotonic_ns();
    }

    fn missed(&mut self) -> io::Result<u64> {
        self.receiver.missed()
    }
}

impl AsFd for Queue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.receiver.as_fd()
    }
}

impl Far for Sender {
    /// One at a time, since there is no call for several.
    fn send<'a>(&mut self, mut packets: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        packets
            .next()
            .map_or(Ok(0), |packet| self.send(packet).map(|()| 1))
    }
}
