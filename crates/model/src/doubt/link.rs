//! What about an emulated link a sceptic would ask about.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::percent;
use super::table::doubts;

doubts! {
    /// Something about one direction of a link, `up` or `down`, that a sceptic would ask about.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(tag = "kind", rename_all = "snake_case")]
    pub enum LinkDoubt {
        /// This share of the packets left more than so much later than due, the latest by so much.
        Late {
            /// From the client to the server, or back.
            direction: String,
            /// Share of the packets that left late, 0 to 1.
            late_share: f64,
            /// What counts as late, ns after due.
            limit_ns: u64,
            /// The latest of all, ns after due.
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

        /// In older runs over TUN devices: this share of the packets may have waited longer than so until
        /// the link read them, from when it last looked, or woke.
        Waited {
            /// From the client to the server, or back.
            direction: String,
            /// Share of the packets that may have waited longer than the limit until they were read;
            /// how late the link woke for one is not counted.
            waited_share: f64,
            /// Longest wait that is none, ns.
            limit_ns: u64,
        } => (
            "the link was slow to read: {} of its packets {direction} may have waited more than \
            {:.1} ms at their TUN device, by which their delay was longer than was asked for; \
            how late it woke for a packet is not counted",
            percent(*waited_share),
            *limit_ns as f64 / 1e6
        ),
            "send fewer packets, stop other work, or have the link carried by `userspace`, to \
            which the kernel tells when packets came",
            severity: *waited_share,
            apart: direction;

        /// The link had no time to take packets in before their queue was full.
        Missed {
            /// From the client to the server, or back.
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
            /// From the client to the server, or back.
            direction: String,
            /// Packets for which the link had no memory, count.
            packets: u64,
        } => (
            "the link's memory was full: {packets} packets {direction} were dropped that \
            nobody asked to drop"
        ),
            "give the link a --rate with a --queue, or less delay",
            severity: *packets as f64,
            apart: direction;

        /// Packets came that no wire carries: left to hardware to cut, or to fill in their checksums.
        Unfinished {
            /// From the client to the server, or back.
            direction: String,
            /// Packets that no wire carries, count.
            packets: u64,
        } => (
            "{packets} packets {direction} were left to a device to finish and were dropped: \
            longer than the MTU, or without their checksum"
        ),
            "turn segmentation and checksums of the devices off (ethtool -K)",
            severity: *packets as f64,
            apart: direction;

        /// The far end's device refused packets.
        Refused {
            /// From the client to the server, or back.
            direction: String,
            /// Packets that the far end's device refused, count.
            packets: u64,
        } => ("the device at the far end refused {packets} packets {direction}"),
            "see `ip -s link` on the host at the far end",
            severity: *packets as f64,
            apart: direction;
    }
}
