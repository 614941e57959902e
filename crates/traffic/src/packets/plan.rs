//! The plan of an exchange: what is sent, how, and for how long.

use std::time::Duration;

use model::workload::Arrivals;
use serde::{Deserialize, Serialize};

use super::{
    LARGEST_BYTES, PacketError, PacketPace, PacketSizes, ReceiveWay, SMALLEST_BYTES,
    SMALLEST_FRAME_BYTES, SendWay,
};

/// What carries packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PacketPath {
    /// UDP over loopback.
    Udp,
    /// Whole frames between two devices, bypassing their queueing disciplines if `passes_by_qdisc`
    /// is set.
    Raw { passes_by_qdisc: bool },
}

/// The plan of an exchange: what is sent, how, and for how long.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PacketPlan {
    pub path: PacketPath,
    /// Sizes of the payloads for UDP; of whole frames without their checksum for raw frames.
    pub sizes: PacketSizes,
    pub send: SendWay,
    pub receive: ReceiveWay,
    /// `None` sends as fast as possible, with no more packets under way than fit.
    pub pace: Option<PacketPace>,
    pub until: Until,
    pub sender_cpu: usize,
    pub receiver_cpu: usize,
}

impl PacketPlan {
    pub fn is_raw(&self) -> bool {
        matches!(self.path, PacketPath::Raw { .. })
    }

    pub(super) fn largest_bytes(&self) -> usize {
        let [_, largest] = self.sizes.range();
        largest
    }

    /// Returns the time that an even pace takes for this many packets, with the gap after the last,
    /// ns; 0 for random gaps, which begin before the first packet.
    #[expect(clippy::cast_possible_truncation, reason = "a float saturates")]
    pub(super) fn paced_ns(&self, packets: u64) -> u64 {
        let even = self.pace.filter(|pace| pace.arrivals == Arrivals::Uniform);
        even.map_or(0, |pace| (packets as f64 / pace.rate * 1e9) as u64)
    }

    /// Checks that such packets and sends are possible; `most` is the largest packet of the path,
    /// bytes.
    pub(super) fn check(&self, most: usize) -> Result<(), PacketError> {
        let [smallest, largest] = self.sizes.range();
        let is_raw = self.is_raw();
        let least = if is_raw {
            SMALLEST_FRAME_BYTES
        } else {
            SMALLEST_BYTES
        };
        if let Some(bytes) = [smallest, largest]
            .into_iter()
            .find(|bytes| !(least..=most).contains(bytes))
        {
            return Err(match is_raw {
                true => PacketError::FrameSize { bytes, most },
                false => PacketError::Size { bytes },
            });
        }
        let way = |way: &dyn std::fmt::Display| {
            let way = way.to_string();
            Err(PacketError::Way { way, is_raw })
        };
        match (self.send, self.receive) {
            (SendWay::Ring(_), _) if !is_raw => way(&self.send),
            (_, receive) if (receive == ReceiveWay::Ring) != is_raw => way(&receive),
            (SendWay::Segments(_), _) if !self.sizes.are_alike() => Err(PacketError::MixedSegments),
            (SendWay::Segments(segments), _) if usize::from(segments) * largest > LARGEST_BYTES => {
                let bytes = largest;
                Err(PacketError::LargeSend { segments, bytes })
            }
            _ => self.check_pace(smallest),
        }
    }

    fn check_pace(&self, smallest: usize) -> Result<(), PacketError> {
        let Some(PacketPace { rate, burst, .. }) = self.pace else {
            return Ok(());
        };
        if smallest < 2 * SMALLEST_BYTES {
            return Err(PacketError::NoTime { bytes: smallest });
        }
        match rate > 0.0 && rate.is_finite() && burst > 0 {
            true => Ok(()),
            false => Err(PacketError::NoRate { rate }),
        }
    }
}

/// When an exchange ends.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Until {
    /// After this many packets were sent.
    Count(u64),
    /// After this much time.
    Time(Duration),
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A plan for datagrams of one size, without a pace.
    pub(in crate::packets) fn udp_plan(
        bytes: usize,
        (send, receive): (SendWay, ReceiveWay),
        until: Until,
        [sender_cpu, receiver_cpu]: [usize; 2],
    ) -> PacketPlan {
        PacketPlan {
            path: PacketPath::Udp,
            sizes: PacketSizes::of(bytes),
            send,
            receive,
            pace: None,
            until,
            sender_cpu,
            receiver_cpu,
        }
    }
}
