//! What about exchanged packets a sceptic would ask about.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::percent;
use super::table::doubts;

doubts! {
    /// Something about packets from one end to the other that a sceptic would ask about.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(tag = "kind", rename_all = "snake_case")]
    pub enum PacketDoubt {
        /// Of so many that are sent at once a receiver that asks for so many with a call has no whole calls.
        ShortCalls {
            /// Packets of one burst, count.
            sent_at_once: u64,
            /// Packets that one call of the receiver asks for, count.
            call: u64,
        } => (
            "{sent_at_once} packets are sent at once, which are no whole calls of {call}: some \
             of the receiver's calls are given fewer than they ask for"
        ),
            "raise net.core.rmem_max, have smaller calls or packets, or calls at one end that \
             are a multiple of the other's",
            severity: *call as f64 / *sent_at_once as f64;

        /// This share of those that were sent did not come.
        Lost {
            /// Share of those sent that did not come, 0 to 1.
            lost_share: f64,
        } => (
            "{} of the packets were lost: what they cost is in the figures of those that came",
            percent(*lost_share)
        ),
            "of UDP look at `nstat -az UdpInErrors UdpRcvbufErrors`, and for rules of a firewall that \
             hold for lo; raw frames found no room in the receiver's ring or in a queue of the kernel",
            severity: *lost_share;

        /// The sender did not keep the pace that was asked for.
        Behind {
            /// Packets a second that were asked for.
            asked_per_second: f64,
            /// Packets a second that left.
            sent_per_second: f64,
        } => (
            "{sent_per_second:.0} packets left a second where {asked_per_second:.0} were due: the sender was the limit"
        ),
            "ask for fewer, or for more with one call (--send batch:64, segments:64 or ring:64)",
            severity: 1.0 - sent_per_second / asked_per_second;

        /// What arrives is handed to these CPUs (a mask), whose time is in neither end's.
        Steered {
            /// CPUs that what comes by lo is handed to: a mask as the kernel writes it.
            cpus: String,
        } => (
            "receive packet steering hands what comes by lo to the CPUs {cpus}: what is done \
             there is in neither end's CPU time"
        ),
            "write 0 to /sys/class/net/lo/queues/rx-0/rps_cpus";
    }
}
