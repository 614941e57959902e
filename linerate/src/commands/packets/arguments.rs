//! The flags of `linerate packets`.

use std::time::Duration;

use anyhow::ensure;
use machine::cpus::CpuSplit;
use traffic::packets::{PacketPlan, ReceiveWay, SendWay, Until};

use crate::values;

/// What a path with an MTU of 1,280 bytes carries, the least that IPv6 has, as QUIC begins with.
const USUAL_BYTES: &str = "1200";

/// What packets of UDP cost their sender and their receiver, one at a time or many
///
/// Both are on this machine, each on a CPU of its own that it keeps busy at once, also where the
/// machine is at work, and speak over its loopback. The sender gives
/// packets to the kernel one by one, several with one call (sendmmsg), or as one send that the
/// kernel cuts into segments (UDP_SEGMENT, GSO); the receiver takes them one by one, several with one
/// call (recvmmsg), or as the kernel merges them (UDP_GRO). Each has a number and its size is
/// checked. No more are under way than the receiver's buffer holds, so that what is lost was lost by
/// the kernel; the CPU time is that of the calls, without the waiting of one end for the other. Where
/// nothing comes, or nothing of five bursts in a row, it ends with an error.
///
/// Over loopback the sender's calls bring each packet to the receiver's socket, and only what was
/// sent as segments is merged.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Payload of each, bytes, from 8
    #[arg(long, value_name = "BYTES", default_value = USUAL_BYTES)]
    size: usize,
    /// How they are sent: single, batch:N (sendmmsg) or segments:N (UDP_SEGMENT)
    #[arg(long, value_name = "HOW", default_value = "single")]
    send: SendWay,
    /// How they are received: single, batch:N (recvmmsg) or merged (UDP_GRO)
    #[arg(long, value_name = "HOW", default_value = "single")]
    receive: ReceiveWay,
    /// For how long
    #[arg(short, long, value_name = "TIME", default_value = "1s", value_parser = values::parse_duration)]
    duration: Duration,
    /// Send so many, however long that takes
    #[arg(short = 'n', long, value_name = "N", conflicts_with = "duration", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Print one JSON value (docs/schema/packets.json)
    #[arg(long)]
    pub(super) json: bool,
}

const EXAMPLES: &str = "\
Examples:
  What does a packet cost, sent and received one by one?
    linerate packets
  And 32 with one call at both ends?
    linerate packets --send batch:32 --receive batch:32
  And as segments of one send, merged for the receiver, as QUIC has them?
    linerate packets --send segments:32 --receive merged
  A million small ones, for a script:
    linerate packets --size 64 --count 1000000 --json | jq .sender.cpu_seconds_per_million";

impl Arguments {
    /// The sender where a server would be.
    pub(super) fn plan(&self, cpus: &CpuSplit) -> anyhow::Result<PacketPlan> {
        ensure!(
            !self.duration.is_zero(),
            "--duration 0 leaves no time to send anything in"
        );
        let first = |cpus: &[usize]| cpus.first().copied().unwrap_or_default();
        Ok(PacketPlan {
            packet_bytes: self.size,
            send: self.send,
            receive: self.receive,
            until: self.count.map_or(Until::Time(self.duration), Until::Count),
            sender_cpu: first(&cpus.server),
            receiver_cpu: first(&cpus.client),
        })
    }
}
