//! One direction of a link as a queueing discipline, in the kernel's own units.

use model::link::{LinkRate, LinkShape, MOST_HELD_BYTES, QueueLimit, USUAL_FRAME_BYTES, Via};

const NS_PER_SECOND: u128 = 1_000_000_000;
/// The kernel counts a bucket as the time in which it fills, in units of 64 ns (`PSCHED_SHIFT` in
/// net/pkt_sched.h).
pub(super) const TICK_NS: u128 = 64;
/// The burst of a steady rate is what the rate brings in a second, divided by this. A timer may
/// then be late by that part of a second and loses nothing of the rate.
const STEADY_BURSTS_PER_SECOND: u64 = 1000;
/// The least burst of a steady rate: one packet that leaves and one that waits.
const LEAST_BURST_BYTES: u64 = 2 * USUAL_FRAME_BYTES;

/// A queueing discipline at the root of a device, and the queue in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Qdisc {
    pub(super) shaper: Shaper,
    /// The limit of the queue; `None` with netem, which has a limit of its own.
    pub(super) room: Option<Room>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Shaper {
    /// No shaper but a queue, which on these devices delays nothing, and counts.
    Open,
    Tbf(Buckets),
    Netem(Emulation),
}

/// A rate with the burst that may leave at once, and with credit also the burst rate with its own
/// burst.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Buckets {
    pub(super) base: Bucket,
    pub(super) peak: Option<Bucket>,
}

/// A bucket of bytes, which fills at its rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bucket {
    pub(super) bytes_per_second: u64,
    pub(super) bytes: u64,
}

/// The settings of netem. A share of 2³² − 1 means all packets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Emulation {
    pub(super) delay_ns: u64,
    /// Rate; 0 for no limit.
    pub(super) bytes_per_second: u64,
    pub(super) loss: u32,
    pub(super) reorder: u32,
    pub(super) limit_packets: u32,
}

/// The limit of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    Packets(u32),
    Bytes(u32),
}

impl Qdisc {
    /// Returns the discipline that gives the link this shape. The plan with the shape must have
    /// passed its check.
    pub(super) fn asked(via: Via, shape: &LinkShape) -> Self {
        match (via, shape.rate) {
            (Via::Netem, _) if *shape != LinkShape::default() => Self {
                shaper: Shaper::Netem(Emulation::asked(shape)),
                room: None,
            },
            (Via::Tbf, Some(rate)) => Self {
                shaper: Shaper::Tbf(Buckets::asked(rate)),
                room: Some(Room::asked(
                    shape.queue,
                    bytes_per_second(rate.peak_bits_per_second()),
                )),
            },
            _ => Self {
                shaper: Shaper::Open,
                room: Some(Room::Packets(saturated(room_packets(1000)))),
            },
        }
    }

    /// Whether what the kernel reports is this discipline. The kernel rounds its buckets.
    pub(super) fn matches(&self, held: &Self) -> bool {
        let shaper = match (self.shaper, held.shaper) {
            (Shaper::Tbf(asked), Shaper::Tbf(held)) => asked.matches(&held),
            (asked, held) => asked == held,
        };
        shaper && self.room == held.room
    }
}

impl Buckets {
    fn asked(rate: LinkRate) -> Self {
        match rate {
            LinkRate::Steady { bits_per_second } => Self {
                base: Bucket::steady(bits_per_second),
                peak: None,
            },
            LinkRate::Credit {
                burst_bits_per_second,
                bucket_bytes,
                base_bits_per_second,
            } => Self {
                base: Bucket {
                    bytes_per_second: bytes_per_second(base_bits_per_second),
                    bytes: bucket_bytes,
                },
                peak: Some(Bucket::steady(burst_bits_per_second)),
            },
        }
    }

    fn matches(&self, held: &Self) -> bool {
        let peaks = match (self.peak, held.peak) {
            (Some(asked), Some(held)) => asked.matches(&held),
            (asked, held) => asked == held,
        };
        self.base.matches(&held.base) && peaks
    }
}

impl Bucket {
    fn steady(bits_per_second: u64) -> Self {
        let bytes_per_second = bytes_per_second(bits_per_second);
        let burst = bytes_per_second / STEADY_BURSTS_PER_SECOND;
        Self {
            bytes_per_second,
            bytes: burst.clamp(LEAST_BURST_BYTES, u32::MAX.into()),
        }
    }

    /// A bucket that fills at this rate in this many of the kernel's units of time.
    pub(super) fn filled_in(bytes_per_second: u64, ticks: u32) -> Self {
        let byte_ns = u128::from(ticks) * TICK_NS * u128::from(bytes_per_second);
        Self {
            bytes_per_second,
            bytes: u64::try_from(byte_ns / NS_PER_SECOND).unwrap_or(u64::MAX),
        }
    }

    /// The time in which it fills, in the kernel's units.
    pub(super) fn ticks(&self) -> u32 {
        let ns = u128::from(self.bytes) * NS_PER_SECOND / u128::from(self.bytes_per_second);
        u32::try_from(ns / TICK_NS).unwrap_or(u32::MAX)
    }

    /// Whether it is equal within a thousandth and what a unit of time brings.
    fn matches(&self, held: &Self) -> bool {
        let tick_bytes = u128::from(self.bytes_per_second) * TICK_NS / NS_PER_SECOND;
        let slack = self.bytes / 1000 + u64::try_from(tick_bytes).unwrap_or(u64::MAX) + 2;
        self.bytes_per_second == held.bytes_per_second && self.bytes.abs_diff(held.bytes) <= slack
    }
}

impl Emulation {
    fn asked(shape: &LinkShape) -> Self {
        let rate = shape.rate.map(LinkRate::peak_bits_per_second);
        let bytes_per_second = rate.map_or(0, bytes_per_second);
        Self {
            delay_ns: shape.delay_ns,
            bytes_per_second,
            loss: of_all(shape.loss_share),
            reorder: of_all(shape.reorder.map_or(0.0, |reorder| reorder.share)),
            limit_packets: saturated(limit_packets(shape, bytes_per_second)),
        }
    }
}

/// The limit of netem, which counts both the packets that wait and those under way: room for as
/// many usual frames as are under way at the rate, and for the queue.
fn limit_packets(shape: &LinkShape, bytes_per_second: u64) -> u64 {
    let QueueLimit::Packets(waiting) = shape.queue else {
        return MOST_HELD_BYTES / USUAL_FRAME_BYTES;
    };
    if bytes_per_second == 0 {
        return MOST_HELD_BYTES / USUAL_FRAME_BYTES;
    }
    let under_way = bytes_in(bytes_per_second, shape.delay_ns).div_ceil(USUAL_FRAME_BYTES);
    room_packets(waiting).saturating_add(under_way)
}

impl Room {
    /// The limit of a queue. A qdisc counts the packet that is leaving among those that wait, so it
    /// has room for one more.
    fn asked(queue: QueueLimit, bytes_per_second: u64) -> Self {
        let bytes =
            |waiting: u64| Self::Bytes(saturated(waiting.saturating_add(USUAL_FRAME_BYTES)));
        match queue {
            QueueLimit::Packets(packets) => Self::Packets(saturated(room_packets(packets))),
            QueueLimit::Bytes(waiting) => bytes(waiting),
            QueueLimit::WaitNs(ns) => bytes(bytes_in(bytes_per_second, ns)),
        }
    }

    /// The kernel's name of the queue with such a limit.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::Packets(_) => "pfifo",
            Self::Bytes(_) => "bfifo",
        }
    }

    pub(super) fn limit(self) -> u32 {
        match self {
            Self::Packets(limit) | Self::Bytes(limit) => limit,
        }
    }
}

fn room_packets(waiting: u64) -> u64 {
    waiting.saturating_add(1)
}

fn bytes_per_second(bits_per_second: u64) -> u64 {
    bits_per_second / 8
}

fn bytes_in(bytes_per_second: u64, ns: u64) -> u64 {
    let bytes = u128::from(bytes_per_second) * u128::from(ns) / NS_PER_SECOND;
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

fn saturated(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a share from 0 to 1 of the largest is no larger"
)]
fn of_all(share: f64) -> u32 {
    (share * f64::from(u32::MAX)).round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steady(bits_per_second: u64, queue: QueueLimit) -> LinkShape {
        LinkShape {
            rate: Some(LinkRate::Steady { bits_per_second }),
            queue,
            ..LinkShape::default()
        }
    }

    fn words(via: Via, shape: &LinkShape) -> String {
        Qdisc::asked(via, shape).to_string()
    }

    #[test]
    fn a_rate_is_a_bucket_of_a_millisecond_and_two_frames_at_least() {
        let slow = steady(8_000_000, QueueLimit::default());
        let slow_words = "tbf rate 8000000bit burst 3028b, pfifo limit 1001p";
        assert_eq!(words(Via::Tbf, &slow), slow_words);
        let fast = steady(1_000_000_000, QueueLimit::default());
        assert!(words(Via::Tbf, &fast).contains("burst 125000b"));
    }

    #[test]
    fn a_queue_has_room_for_the_packet_that_is_leaving_as_well() {
        for (queue, room) in [
            (QueueLimit::Packets(0), Room::Packets(1)),
            (QueueLimit::Bytes(3_000), Room::Bytes(4_514)),
            // 20 ms of 8 Mbit/s.
            (QueueLimit::WaitNs(20_000_000), Room::Bytes(21_514)),
            (QueueLimit::Packets(u64::MAX), Room::Packets(u32::MAX)),
        ] {
            let qdisc = Qdisc::asked(Via::Tbf, &steady(8_000_000, queue));
            assert_eq!(qdisc.room, Some(room));
        }
    }

    #[test]
    fn credit_is_a_bucket_that_fills_at_the_base_rate_below_a_burst_rate() {
        let shape = LinkShape {
            rate: Some(LinkRate::Credit {
                burst_bits_per_second: 5_000_000_000,
                bucket_bytes: 1_000_000_000,
                base_bits_per_second: 500_000_000,
            }),
            ..LinkShape::default()
        };
        let words = words(Via::Tbf, &shape);
        assert!(words.starts_with("tbf rate 500000000bit burst 1000000000b"));
        assert!(
            words.contains("peakrate 5000000000bit mtu 625000b"),
            "{words}"
        );
    }

    #[test]
    fn netem_has_room_for_what_is_under_way_beside_the_queue() {
        let shape = LinkShape {
            delay_ns: 100_000_000,
            ..steady(8_000_000, QueueLimit::Packets(50))
        };
        // 100,000 bytes are under way: 67 frames.
        assert_eq!(
            words(Via::Netem, &shape),
            "netem limit 118 delay 100000us rate 8000000bit"
        );
        let lossy = LinkShape {
            loss_share: 0.001,
            ..LinkShape::default()
        };
        assert_eq!(
            words(Via::Netem, &lossy),
            "netem limit 199464 loss 0.100000%"
        );
    }

    #[test]
    fn a_direction_of_which_nothing_is_asked_only_counts() {
        for via in Via::ALL {
            assert_eq!(words(via, &LinkShape::default()), "pfifo limit 1001p");
        }
    }

    #[test]
    fn a_bucket_is_known_again_after_the_kernels_rounding_and_another_is_not() {
        let bucket = Bucket {
            bytes_per_second: 62_500_000,
            bytes: 1_000_000_000,
        };
        let told = Bucket::filled_in(bucket.bytes_per_second, bucket.ticks());
        assert!(bucket.matches(&told), "{told:?}");
        let other = Bucket::filled_in(bucket.bytes_per_second, bucket.ticks() / 2);
        assert!(!bucket.matches(&other), "{other:?}");
    }
}
