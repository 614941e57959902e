//! The ends of a link: packet sockets at virtual devices. Frames come out of a ring, with the
//! kernel's timestamps.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use sys::clock;
use sys::packet::{self, Arrival, Frames, Receiver, Sender};

/// Frames that may wait in memory until they are taken: 40 ms at 100,000 a second.
const RING_FRAMES: usize = 4096;
/// Length of Ethernet's header and a VLAN tag.
const AROUND_PACKET_BYTES: usize = 18;
/// Clocks that are slewed run together, so if one has moved against the other by more than this, it
/// was set. Smaller differences may come of reading them one after the other.
const MOST_ASTRAY_NS: u64 = 1_000_000;

/// A packet that came to the near end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Came<'a> {
    /// When it came, on the monotonic clock, ns.
    pub at_ns: u64,
    /// Length of its Ethernet frame without preamble and checksum.
    pub bytes: u32,
    /// What the far end receives; `None` for a frame that no wire carries: longer than the MTU, or
    /// without its checksum.
    pub packet: Option<&'a [u8]>,
}

/// The device from which a direction takes packets; readable when there are some.
#[derive(Debug)]
pub(super) struct Ring {
    receiver: Receiver,
    stamps: Stamps,
}

/// Converts the kernel's timestamps, which are on the wall clock, to the monotonic clock.
#[derive(Debug)]
struct Stamps {
    /// How far the wall clock was ahead of the monotonic one at the last look, ns, modulo 2⁶⁴.
    wall_ahead_ns: u64,
    /// Whether all waiting packets were stamped after the wall clock was last set.
    are_trusted: bool,
}

/// Opens a device of the calling thread's network namespace, for taking packets from it and for
/// handing packets to it.
///
/// # Errors
/// `EPERM` without `CAP_NET_RAW`, `ENODEV` for a device that is not there, `ENOMEM`.
pub(super) fn open(device: &str) -> io::Result<(Ring, Sender)> {
    let longest_bytes = packet::mtu(device)? + AROUND_PACKET_BYTES;
    let receiver = Receiver::open(device, Frames::Incoming, RING_FRAMES, longest_bytes)?;
    let ring = Ring {
        receiver,
        stamps: Stamps::new(clock::wall_ahead_ns()),
    };
    Ok((ring, Sender::open(device)?))
}

impl Ring {
    /// Hands the waiting packets to `each`, oldest first and at most `most`. Returns how many.
    pub(super) fn take(&mut self, most: usize, mut each: impl FnMut(Came<'_>)) -> usize {
        let Self { receiver, stamps } = self;
        stamps.look(clock::wall_ahead_ns());
        let taken = receiver.take(most, |arrival| {
            // Read for each packet: one that comes while others are taken is younger than they are.
            let seen_ns = clock::monotonic_ns();
            each(Came {
                at_ns: stamps.came_ns(arrival.wall_ns, seen_ns),
                bytes: arrival.bytes,
                packet: is_finished(&arrival).then_some(arrival.frame),
            });
        });
        if taken < most {
            stamps.none_waits();
        }
        taken
    }

    /// Packets lost so far because they were not taken in time.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub(super) fn missed(&mut self) -> io::Result<u64> {
        self.receiver.missed()
    }
}

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.receiver.as_fd()
    }
}

/// Whether the frame is as it would be on a wire: whole, and with its checksum.
fn is_finished(arrival: &Arrival<'_>) -> bool {
    arrival.frame.len() as u64 == u64::from(arrival.bytes) && !arrival.lacks_checksum
}

impl Stamps {
    fn new(wall_ahead_ns: u64) -> Self {
        Self {
            wall_ahead_ns,
            are_trusted: true,
        }
    }

    /// Checks the wall clock; to be called before packets are taken.
    fn look(&mut self, wall_ahead_ns: u64) {
        let moved_ns = wall_ahead_ns.wrapping_sub(self.wall_ahead_ns);
        let astray_ns = moved_ns.min(moved_ns.wrapping_neg());
        self.are_trusted &= astray_ns <= MOST_ASTRAY_NS;
        self.wall_ahead_ns = wall_ahead_ns;
    }

    /// To be called when all waiting packets have been taken: later packets are stamped by the
    /// clock as it is set now.
    fn none_waits(&mut self) {
        self.are_trusted = true;
    }

    /// When a packet came, on the monotonic clock: by the kernel's timestamp, however long ago,
    /// since a link that was stopped is late by as much. Where that timestamp cannot be right, the
    /// time at which it was seen.
    fn came_ns(&self, wall_ns: u64, seen_ns: u64) -> u64 {
        let stamped_ns = wall_ns.wrapping_sub(self.wall_ahead_ns);
        if self.are_trusted && stamped_ns <= seen_ns {
            stamped_ns
        } else {
            seen_ns
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_NS: u64 = 5_000_000_000_000;
    const AHEAD_NS: u64 = 1_000_000_000_000_000;

    #[test]
    fn a_packet_came_when_the_kernel_says_however_long_ago_unless_that_cannot_be() {
        let mut stamps = Stamps::new(AHEAD_NS);
        stamps.look(AHEAD_NS + MOST_ASTRAY_NS);
        stamps.look(AHEAD_NS);
        let came_ns = |stamped_ns: u64| stamps.came_ns(AHEAD_NS.wrapping_add(stamped_ns), NOW_NS);
        for possible_ns in [NOW_NS, NOW_NS - 1, NOW_NS - 3_000_000_000, 0] {
            assert_eq!(came_ns(possible_ns), possible_ns);
        }
        let before_this_machine_started_ns = 0_u64.wrapping_sub(7);
        for impossible_ns in [NOW_NS + 1, before_this_machine_started_ns] {
            assert_eq!(came_ns(impossible_ns), NOW_NS, "{impossible_ns}");
        }
    }

    #[test]
    fn no_stamp_is_trusted_from_when_the_wall_clock_was_set_until_all_that_waited_are_taken() {
        for set_ns in [AHEAD_NS + MOST_ASTRAY_NS + 1, AHEAD_NS - MOST_ASTRAY_NS - 1] {
            let mut stamps = Stamps::new(AHEAD_NS);
            stamps.look(set_ns);
            stamps.look(set_ns);
            assert_eq!(stamps.came_ns(set_ns + NOW_NS - 9, NOW_NS), NOW_NS);
            stamps.none_waits();
            stamps.look(set_ns);
            assert_eq!(stamps.came_ns(set_ns + NOW_NS - 9, NOW_NS), NOW_NS - 9);
        }
    }
}
