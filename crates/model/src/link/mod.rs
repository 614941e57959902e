//! A link between two hosts: what it does to packets, and what it carried.

mod plan;
mod spec;
pub mod spelling;
mod via;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use plan::{
    BESIDE_EACH_PACKET_BYTES, ImpossibleLink, LinkPlan, MOST_HELD_BYTES, USUAL_FRAME_BYTES,
};
pub use spec::LinkSpec;
pub use via::Via;

use crate::doubt::Doubt;
use crate::histogram::Histogram;

/// What one direction of a link does to each packet. Sizes are of whole Ethernet frames without
/// preamble and checksum, as tc(8) counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkShape {
    /// Time from when the last bit has left the near end until it is at the far end, ns.
    pub delay_ns: u64,
    /// Rate at which bits leave; if absent, they leave as fast as they come.
    pub rate: Option<LinkRate>,
    /// Share of the packets that leave and do not arrive, 0 to 1; each is lost by its own chance.
    pub loss_share: f64,
    /// Packets that overtake others; null for none.
    pub reorder: Option<Reorder>,
    /// How much may wait for the rate; packets beyond that are dropped.
    pub queue: QueueLimit,
}

/// How fast bits leave a link's near end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum LinkRate {
    /// A constant rate.
    Steady {
        /// The rate, bit/s.
        bits_per_second: u64,
    },
    /// Fast while there is credit in the bucket, which fills at the base rate and starts full:
    /// what providers sell as “up to” a rate.
    Credit {
        /// Rate with credit, bit/s.
        burst_bits_per_second: u64,
        /// Size of the bucket, which is also the credit at the start, bytes.
        bucket_bytes: u64,
        /// Rate without credit, at which credit is also earned, bit/s.
        base_bits_per_second: u64,
    },
}

impl LinkRate {
    /// The highest rate that it allows at any time, bit/s.
    pub fn peak_bits_per_second(self) -> u64 {
        match self {
            Self::Steady { bits_per_second } => bits_per_second,
            Self::Credit {
                burst_bits_per_second,
                ..
            } => burst_bits_per_second,
        }
    }
}

/// Packets that skip some of the delay, and so overtake those sent shortly before them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reorder {
    /// Share of the packets that skip a part of the delay, 0 to 1; each does by its own chance.
    pub share: f64,
    /// How much of the delay they skip, ns.
    pub early_ns: u64,
}

/// How much may wait for a link's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueueLimit {
    /// This many packets, count.
    Packets(u64),
    /// This many bytes.
    Bytes(u64),
    /// As much as leaves within this time, ns: a packet that would wait longer is dropped.
    WaitNs(u64),
}

/// The usual queue length of a device on Linux (`DEFAULT_TX_QUEUE_LEN`), and of netem.
impl Default for QueueLimit {
    fn default() -> Self {
        Self::Packets(1000)
    }
}

/// What happened to the packets of one direction; `offered` is the sum of all others but
/// `overtook`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkTally {
    /// Packets that came to the near end, count.
    pub offered_packets: u64,
    /// Bytes of these packets.
    pub offered_bytes: u64,
    /// Packets handed to the far end, count.
    pub carried_packets: u64,
    /// Bytes of these packets.
    pub carried_bytes: u64,
    /// Packets of `carried_packets` that left before one that had come earlier, count.
    pub overtook_packets: u64,
    /// Packets lost by chance, as asked for, count.
    pub lost_packets: u64,
    /// Packets that found the queue full, as asked for, count.
    pub dropped_packets: u64,
    /// Packets for which the link had no memory, count.
    pub unheld_packets: u64,
    /// Packets that no wire carries, count: a device left work to hardware that is not there, so
    /// they are longer than the MTU or lack their checksum.
    pub unfinished_packets: u64,
    /// Packets that the far end's device refused, count.
    pub refused_packets: u64,
    /// Packets that were still under way when the link was taken down, count.
    pub held_packets: u64,
}

/// What one direction of a link did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkReading {
    /// What happened to the packets; `offered` is the sum of carried, lost, dropped, unheld,
    /// unfinished, refused and held.
    pub tally: LinkTally,
    /// Packets that came while the link had no time to take them, count; they are not in the tally.
    pub missed_packets: u64,
    /// How much later than due each packet left, by the link's own clock, ns: the error of delay
    /// and rate. It is never too small, since the clock is read after the packet has left.
    pub lateness_ns: Histogram,
}

/// What a queueing discipline of the kernel did in one direction, by the kernel's own counters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QdiscReading {
    /// The discipline as the kernel reported it before the first packet, in the words of tc(8).
    pub qdisc: String,
    /// Packets handed to the far end, count.
    pub carried_packets: u64,
    /// Bytes of these packets.
    pub carried_bytes: u64,
    /// Packets that found the queue full or were lost by chance, which the kernel counts together,
    /// or for which netem's single limit left no room, count.
    pub dropped_packets: u64,
    /// Packets that were still waiting or under way at the end, count.
    pub held_packets: u64,
}

/// What the link of a run carried in one epoch: a line of its own file in the run folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkRecord {
    /// From the client to the server.
    pub up: LinkTotals,
    /// From the server to the client.
    pub down: LinkTotals,
    /// Doubts where the link was not what was asked for.
    pub doubts: Vec<Doubt>,
}

/// What passed in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkTotals {
    /// Packets handed to the far end, count.
    pub carried_packets: u64,
    /// Bytes of these packets.
    pub carried_bytes: u64,
    /// Packets that were lost by chance or found the queue full, count; for netem also those for
    /// which its single limit left no room.
    pub dropped_packets: u64,
}

impl From<&LinkTally> for LinkTotals {
    fn from(tally: &LinkTally) -> Self {
        Self {
            carried_packets: tally.carried_packets,
            carried_bytes: tally.carried_bytes,
            dropped_packets: tally.lost_packets + tally.dropped_packets,
        }
    }
}

impl From<&QdiscReading> for LinkTotals {
    fn from(reading: &QdiscReading) -> Self {
        Self {
            carried_packets: reading.carried_packets,
            carried_bytes: reading.carried_bytes,
            dropped_packets: reading.dropped_packets,
        }
    }
}
