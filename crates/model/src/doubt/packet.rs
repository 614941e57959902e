//! Doubts about exchanged packets: what a sceptic would ask about them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::percent;
use super::table::doubts;

doubts! {
    /// Something about packets from one end to the other that a sceptic would ask about.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(tag = "kind", rename_all = "snake_case")]
    pub enum PacketDoubt {
        /// The packets that are sent at once are not a multiple of what the receiver asks for with
        /// one call.
        ShortCalls {
            /// Packets of one burst, count.
            sent_at_once: u64,
            /// Packets that one call of the receiver asks for, count.
            call: u64,
        } => (
            "{sent_at_once} packets are sent at once, which is no multiple of a call of {call}: \
             some of the receiver's calls get fewer than they ask for"
        ),
            "raise net.core.rmem_max, use smaller calls or packets, or calls at one end that are a \
             multiple of the other's",
            severity: *call as f64 / *sent_at_once as f64;

        /// A share of the packets that were sent did not arrive.
        Lost {
            /// Share of the packets sent that did not arrive, 0 to 1.
            lost_share: f64,
        } => (
            "{} of the packets were lost: what they cost is in the figures of those that arrived",
            percent(*lost_share)
        ),
            "for UDP see `nstat -az UdpInErrors UdpRcvbufErrors` and the firewall rules that apply \
             to lo; raw frames found no room in the receiver's ring or in a queue of the kernel",
            severity: *lost_share;

        /// The sender did not keep the pace that was asked for.
        Behind {
            /// Rate that was asked for, packets/s.
            asked_per_second: f64,
            /// Rate at which packets left, packets/s.
            sent_per_second: f64,
        } => (
            "{sent_per_second:.0} packets a second were sent where {asked_per_second:.0} were due: the sender was the limit"
        ),
            "ask for fewer, or send more with one call (--send batch:64, segments:64 or ring:64)",
            severity: 1.0 - sent_per_second / asked_per_second;

        /// The kernel hands arriving packets to other CPUs, whose time counts for neither end.
        Steered {
            /// CPUs to which the kernel hands what arrives over lo: a mask as the kernel writes it.
            cpus: String,
        } => (
            "receive packet steering hands packets that arrive on lo to the CPUs {cpus}: the work \
             there is in neither end's CPU time"
        ),
            "write 0 to /sys/class/net/lo/queues/rx-0/rps_cpus";
    }
}
