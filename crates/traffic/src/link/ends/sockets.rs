//! An end by packet sockets at a virtual device: frames come out of a ring, with the kernel's time.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use sys::clock;
use sys::packet::{self, Arrival, Receiver, Seen, Sender};

use super::{Came, End, Far, Near};

/// Frames that wait in memory until they are taken: 40 ms at 100,000 a second.
const RING_FRAMES: usize = 4096;
/// Ethernet's header, and a VLAN's tag.
const AROUND_PACKET_BYTES: usize = 18;
/// A packet said to be older than this, or not to have come yet, was stamped before somebody set
/// the wall clock.
const OLDEST_NS: u64 = 1_000_000_000;

/// A device of the calling thread's network namespace, by its name.
#[derive(Clone, Debug)]
pub struct Sockets(pub String);

/// What came in at such a device.
#[derive(Debug)]
pub struct Ring(Receiver);

impl End for Sockets {
    type Near = Ring;
    type Far = Sender;

    /// Fails with `EPERM` without `CAP_NET_RAW`, with `ENODEV` for a device that is not there, and
    /// with `ENOMEM`.
    fn open(self) -> io::Result<(Ring, Sender)> {
        let device = self.0;
        let longest_bytes = packet::mtu(&device)? + AROUND_PACKET_BYTES;
        let ring = Receiver::open(&device, Seen::Incoming, RING_FRAMES, longest_bytes)?;
        Ok((Ring(ring), Sender::open(&device)?))
    }
}

impl Near for Ring {
    const KEEPS_TIME: bool = true;

    fn take(&mut self, most: usize, mut each: impl FnMut(Came<'_>)) -> usize {
        let wall_ahead_ns = clock::wall_ahead_ns();
        self.0.take(most, |arrival| {
            // Read for each: one that comes while others are taken is younger than they are.
            let seen_ns = clock::monotonic_ns();
            let stamped_ns = arrival.wall_ns.wrapping_sub(wall_ahead_ns);
            each(Came {
                at_ns: came_ns(stamped_ns, seen_ns),
                perhaps_earlier_ns: 0,
                bytes: arrival.bytes,
                packet: is_finished(&arrival).then_some(arrival.frame),
            });
        })
    }

    fn missed(&mut self) -> io::Result<u64> {
        self.0.missed()
    }
}

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Far for Sender {
    fn send<'a>(&mut self, packets: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        Self::send(self, packets)
    }
}

/// Whether the frame is as it would be on a wire: whole, and with its checksum.
fn is_finished(arrival: &Arrival<'_>) -> bool {
    arrival.frame.len() as u64 == u64::from(arrival.bytes) && !arrival.lacks_checksum
}

/// When a packet came: as the kernel stamped it, unless that cannot be; then, when it was seen.
fn came_ns(stamped_ns: u64, seen_ns: u64) -> u64 {
    // A stamp of the future is older still, by the wrapping.
    let age_ns = seen_ns.wrapping_sub(stamped_ns);
    if age_ns <= OLDEST_NS {
        stamped_ns
    } else {
        seen_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_NS: u64 = 5_000_000_000;

    #[test]
    fn a_packet_came_when_the_kernel_says_unless_that_cannot_be() {
        for possible_ns in [NOW_NS, NOW_NS - 1, NOW_NS - OLDEST_NS] {
            assert_eq!(came_ns(possible_ns, NOW_NS), possible_ns);
        }
        let before_this_machine_started_ns = 0_u64.wrapping_sub(7);
        for impossible_ns in [
            NOW_NS + 1,
            NOW_NS - OLDEST_NS - 1,
            0,
            before_this_machine_started_ns,
        ] {
            assert_eq!(came_ns(impossible_ns, NOW_NS), NOW_NS, "{impossible_ns}");
        }
    }
}
