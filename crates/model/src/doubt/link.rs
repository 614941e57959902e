//! Doubts about an emulated link: what a sceptic would ask about it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::percent;
use super::table::doubts;

doubts! {
    /// Something about one direction of a link, `up` or `down`, that a sceptic would ask about.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(tag = "kind", rename_all = "snake_case")]
    pub enum LinkDoubt {
        /// A share of the packets left later than due, by more than a limit.
        Late {
            /// `up`, from the client to the server, or `down`.
            direction: String,
            /// Share of the packets that left late, 0 to 1.
            late_share: f64,
            /// What counts as late, ns after due.
            limit_ns: u64,
            /// How late the latest packet was, ns after due.
            latest_ns: u64,
        } => (
            "the link was late: {} of its packets {direction} left more than {:.1} ms after \
            they were due, the latest {:.1} ms, so delay and rate were not what was asked for",
            percent(*late_share),
            *limit_ns as f64 / 1e6,
            *latest_ns as f64 / 1e6
        ),
            "send fewer packets, or stop other work",
            severity: *late_share,
            apart: direction;

        /// Only in older runs, over TUN devices: a share of the packets may have waited longer than
        /// a limit until the link read them. The wait is counted from when the link last looked or
        /// woke.
        Waited {
            /// `up`, from the client to the server, or `down`.
            direction: String,
            /// Share of the packets that may have waited longer than the limit until they were
            /// read; the link's own delay in waking up is not counted.
            waited_share: f64,
            /// Longest time that does not count as waiting, ns.
            limit_ns: u64,
        } => (
            "the link was slow to read: {} of its packets {direction} may have waited more than \
            {:.1} ms at their TUN device, which made their delay longer than was asked for; how \
            late the link woke for a packet is not counted",
            percent(*waited_share),
            *limit_ns as f64 / 1e6
        ),
            "send fewer packets, stop other work, or have the link carried by `userspace`, which \
            the kernel tells when packets came",
            severity: *waited_share,
            apart: direction;

        /// The link was too slow to take packets in before their queue was full.
        Missed {
            /// `up`, from the client to the server, or `down`.
            direction: String,
            /// Packets that came while the link's ring or its device's queue was full, count.
            packets: u64,
        } => (
            "the link could not keep up: {packets} packets {direction} were lost before it \
            saw them"
        ),
            "send fewer packets: this is more than the link's share of the CPUs can carry",
            severity: *packets as f64,
            apart: direction;

        /// The link had no memory for packets.
        Unheld {
            /// `up`, from the client to the server, or `down`.
            direction: String,
            /// Packets that were dropped for want of memory, count.
            packets: u64,
        } => (
            "the link's memory was full: {packets} packets {direction} were dropped although \
            nobody asked for that"
        ),
            "give the link a --rate with a --queue, or less delay",
            severity: *packets as f64,
            apart: direction;

        /// Packets came that no wire carries: they were left to hardware that would cut them or
        /// fill in their checksums.
        Unfinished {
            /// `up`, from the client to the server, or `down`.
            direction: String,
            /// Packets that no wire carries, count.
            packets: u64,
        } => (
            "{packets} packets {direction} were dropped because a device was meant to finish them: \
            longer than the MTU, or without their checksum"
        ),
            "turn segmentation and checksums of the devices off (ethtool -K)",
            severity: *packets as f64,
            apart: direction;

        /// The far end's device refused packets.
        Refused {
            /// `up`, from the client to the server, or `down`.
            direction: String,
            /// Packets that the far end's device refused, count.
            packets: u64,
        } => ("the device at the far end refused {packets} packets {direction}"),
            "see `ip -s link` on the host at the far end",
            severity: *packets as f64,
            apart: direction;
    }
}
