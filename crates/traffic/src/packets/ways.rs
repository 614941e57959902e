//! How packets are passed to the kernel, and how they are received from it.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{LARGEST_BYTES, PacketSizes};

/// Packets of one call of sendmmsg(2) or recvmmsg(2) (`UIO_MAXIOV`); a single one is `single`. A
/// ring has no more.
const BATCH: RangeInclusive<u16> = 2..=1024;
/// `UDP_MAX_SEGMENTS` of linux/udp.h since Linux 6.9; 64 before.
const SEGMENTS: RangeInclusive<u16> = 2..=128;
/// Segments of one send that every kernel accepts that can cut sends.
const USUAL_SEGMENTS: usize = 64;
/// Frames of a ring that is small enough to stay in a CPU's caches.
const USUAL_RING: u16 = 128;

/// How a sender passes packets to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum SendWay {
    /// One call for each packet.
    Single,
    /// This many packets with each call: sendmmsg(2).
    Batch(u16),
    /// This many packets as one send, which the kernel cuts: `UDP_SEGMENT`.
    Segments(u16),
    /// This many packets from shared memory with each call, for raw frames only: `PACKET_TX_RING`.
    Ring(u16),
}

/// How a receiver gets packets from the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ReceiveWay {
    /// One call for each packet.
    Single,
    /// At most this many packets with each call: recvmmsg(2).
    Batch(u16),
    /// As many packets as the kernel merges: `UDP_GRO`.
    Merged,
    /// From memory that the kernel writes into, for raw frames only: `PACKET_RX_RING`.
    Ring,
}

impl SendWay {
    /// Returns the cheapest way for raw frames: as many segments as a send carries, or a ring where
    /// the kernel cannot cut, because the sizes differ or the queueing discipline is bypassed.
    #[must_use]
    pub fn of_frames(sizes: &PacketSizes, passes_by_qdisc: bool) -> Self {
        let [_, largest] = sizes.range();
        let fitting = USUAL_SEGMENTS.min(LARGEST_BYTES / largest.max(1));
        match u16::try_from(fitting) {
            Ok(segments) if segments > 1 && sizes.are_alike() && !passes_by_qdisc => {
                Self::Segments(segments)
            }
            _ => Self::Ring(USUAL_RING),
        }
    }

    /// Returns the number of packets in one call.
    pub(super) fn packets(self) -> u16 {
        match self {
            Self::Single => 1,
            Self::Batch(count) | Self::Segments(count) | Self::Ring(count) => count,
        }
    }
}

impl ReceiveWay {
    /// Returns the number of packets that one call asks for.
    pub(super) fn packets(self) -> u16 {
        match self {
            Self::Single | Self::Merged | Self::Ring => 1,
            Self::Batch(count) => count,
        }
    }
}

impl FromStr for SendWay {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let way = match text.split_once(':') {
            None => (text == "single").then_some(Self::Single),
            Some(("batch", count)) => number(count, BATCH).map(Self::Batch),
            Some(("segments", count)) => number(count, SEGMENTS).map(Self::Segments),
            Some(("ring", count)) => number(count, BATCH).map(Self::Ring),
            Some(_) => None,
        };
        way.ok_or_else(|| {
            format!(
                "`{text}` is no way to send: `single`, `ring:N` or `batch:N` with N from {} to {}, or \
                 `segments:N` with N from {} to {}",
                BATCH.start(),
                BATCH.end(),
                SEGMENTS.start(),
                SEGMENTS.end()
            )
        })
    }
}

impl FromStr for ReceiveWay {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let way = match text.split_once(':') {
            None if text == "merged" => Some(Self::Merged),
            None if text == "ring" => Some(Self::Ring),
            None => (text == "single").then_some(Self::Single),
            Some(("batch", count)) => number(count, BATCH).map(Self::Batch),
            Some(_) => None,
        };
        way.ok_or_else(|| {
            format!(
                "`{text}` is no way to receive: `single`, `batch:N` with N from {} to {}, \
                 `merged` or `ring`",
                BATCH.start(),
                BATCH.end()
            )
        })
    }
}

fn number(text: &str, range: RangeInclusive<u16>) -> Option<u16> {
    text.parse().ok().filter(|count| range.contains(count))
}

model::as_text!(SendWay, ReceiveWay);

impl fmt::Display for SendWay {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Single => write!(formatter, "single"),
            Self::Batch(count) => write!(formatter, "batch:{count}"),
            Self::Segments(count) => write!(formatter, "segments:{count}"),
            Self::Ring(count) => write!(formatter, "ring:{count}"),
        }
    }
}

impl fmt::Display for ReceiveWay {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Single => write!(formatter, "single"),
            Self::Batch(count) => write!(formatter, "batch:{count}"),
            Self::Merged => write!(formatter, "merged"),
            Self::Ring => write!(formatter, "ring"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_frames_are_cut_by_the_kernel_wherever_it_can() {
        let way = |sizes: &str, passes_by| {
            let sizes: PacketSizes = sizes.parse().unwrap();
            SendWay::of_frames(&sizes, passes_by).to_string()
        };
        assert_eq!(way("64", false), "segments:64");
        assert_eq!(way("1514", false), "segments:43", "of 65,507 bytes");
        for (sizes, passes_by) in [("64", true), ("64:7,576:4", false), ("65507", false)] {
            assert_eq!(way(sizes, passes_by), "ring:128", "{sizes} {passes_by}");
        }
    }

    #[test]
    fn ways_are_read_as_they_are_written_and_nothing_else_is_one() {
        for text in [
            "single",
            "batch:2",
            "batch:1024",
            "segments:2",
            "segments:128",
            "ring:256",
        ] {
            assert_eq!(text.parse::<SendWay>().unwrap().to_string(), text);
        }
        for text in ["single", "batch:2", "batch:1024", "merged", "ring"] {
            assert_eq!(text.parse::<ReceiveWay>().unwrap().to_string(), text);
        }
        for wrong in [
            "",
            "merged",
            "batch",
            "batch:1",
            "batch:1025",
            "segments:129",
        ] {
            assert!(wrong.parse::<SendWay>().is_err(), "{wrong}");
        }
        for wrong in ["", "segments:16", "merged:2", "batch:", "batch:-2"] {
            assert!(wrong.parse::<ReceiveWay>().is_err(), "{wrong}");
        }
    }
}
