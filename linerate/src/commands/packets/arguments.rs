//! The flags of `linerate packets`.

use std::time::Duration;

use agent::stream::LONGEST;
use anyhow::{bail, ensure};
use machine::cpus::CpuSplit;
use model::rig::RigKind;
use model::workload::Arrivals;
use traffic::packets::{
    PacketPace, PacketPath, PacketPlan, PacketSizes, ReceiveWay, SendWay, Until,
};

use super::find;
use crate::commands::traffic_price::Spending;
use crate::rig_flags::HostsFlag;
use crate::values;

/// Default payload, bytes: what QUIC begins with, and what fits an MTU of 1,280 bytes, the smallest
/// that IPv6 has.
const USUAL_BYTES: usize = 1200;
/// Default length of a raw frame, bytes: the usual small frame, here without its checksum.
const USUAL_FRAME_BYTES: usize = 64;
/// Rate of a flood, packets/s: more than any CPU sends.
const FLOOD: f64 = 1e9;

/// Measure what UDP packets or raw frames cost both ends, how many arrive, and when
///
/// Both ends are on this machine, each on a CPU of its own that it keeps busy from the start, even
/// where the machine is at work. They send UDP over its loopback or, with --raw, whole Ethernet
/// frames through packet sockets between two network namespaces of our own: raw frames go nowhere
/// else. With --rig hosts they are on the two machines of your hosts file, started there by SSH,
/// and send UDP at a rate.
///
/// The sender gives packets to the kernel one by one, several with one call (sendmmsg), as one send
/// that the kernel cuts into segments (UDP_SEGMENT, GSO), or raw from a memory ring
/// (PACKET_TX_RING); the receiver takes them one by one, several with one call (recvmmsg), or as
/// the kernel merges them (UDP_GRO), and raw from a memory ring. Each has a number, and its size is
/// checked. By default the kernel cuts raw frames where it can, which costs least; mixes of sizes,
/// and frames that bypass the queueing discipline, come from a ring.
///
/// Without --rate no more are under way than the receiver's buffer holds, so that what is lost was
/// lost by the kernel; the CPU time is that of the calls, without the waiting of one end for the
/// other. If nothing arrives, or nothing of five bursts in a row, it ends with an error.
///
/// With --rate they leave by a clock, whatever becomes of them: lost, late and duplicate packets
/// are counted by their numbers, and the one-way time runs from before a packet's call until it was
/// received, including the time to wake the receiver. --find searches for the highest rate without
/// loss.
///
/// Over loopback, and between virtual devices, the sender's calls bring each packet to the
/// receiver's socket, and only what was sent as segments is merged.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Bytes of each, from 8 (16 at a rate, raw 60), or several with shares: 64:7,576:4,1500:1 [default: 1200, raw 64]
    ///
    /// For UDP the payload; for raw frames everything from the Ethernet header on but the checksum.
    #[arg(long, value_name = "BYTES")]
    size: Option<PacketSizes>,
    /// How they are sent: single, batch:N (sendmmsg), segments:N (GSO), raw ring:N [default: single, raw segments:64]
    #[arg(long, value_name = "HOW")]
    send: Option<SendWay>,
    /// How they are received: single, batch:N (recvmmsg) or merged (UDP_GRO) [default: single]
    #[arg(long, value_name = "HOW", conflicts_with = "raw")]
    receive: Option<ReceiveWay>,
    /// Send Ethernet frames between two namespaces of our own, by packet sockets
    #[arg(long)]
    pub(super) raw: bool,
    /// Where they go: loopback, hosts (your two machines, over SSH) or, with --raw, netns (two namespaces)
    #[arg(long, value_name = "RIG", value_parser = values::one_of::<RigKind>(RigKind::ALL.map(RigKind::name)), hide_possible_values = true)]
    rig: Option<RigKind>,
    #[command(flatten)]
    pub(super) hosts: HostsFlag,
    /// Bypass the device's queueing discipline (PACKET_QDISC_BYPASS)
    #[arg(long, requires = "raw")]
    qdisc_bypass: bool,
    /// Packets per second to send, such as 100k, whatever becomes of them
    #[arg(long, value_name = "N", value_parser = parse_rate)]
    rate: Option<f64>,
    /// How they are spread over time: uniform or poisson [default: uniform]
    #[arg(long, value_name = "SPREAD", value_parser = values::one_of::<Arrivals>(Arrivals::ALL.map(Arrivals::name)), hide_possible_values = true)]
    arrivals: Option<Arrivals>,
    /// Packets that leave at once, at a rate
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    burst: u32,
    /// Find the highest rate that loses nothing
    #[arg(long, conflicts_with_all = ["rate", "duration", "count"])]
    pub(super) find: bool,
    /// Per cent that may be lost at that rate, such as 0.1%
    #[arg(long, value_name = "PERCENT", requires = "find", value_parser = values::parse_percent)]
    loss: Option<f64>,
    /// How long to send
    #[arg(short, long, value_name = "TIME", default_value = "1s", value_parser = values::parse_duration)]
    duration: Duration,
    /// Send this many, however long that takes
    #[arg(short = 'n', long, value_name = "N", conflicts_with = "duration", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Print one JSON value (docs/schema/packets.json)
    #[arg(long)]
    pub(super) json: bool,
}

const EXAMPLES: &str = "\
Examples:
  What does a datagram cost, sent and received one by one?
    linerate packets
  And 32 with one call at both ends?
    linerate packets --send batch:32 --receive batch:32
  And as segments of one send, merged for the receiver, as QUIC does?
    linerate packets --send segments:32 --receive merged
  A million small ones, for a script:
    linerate packets --size 64 --count 1000000 --json | jq .sender.cpu_seconds_per_million
  What becomes of a mix at a rate, and how long does each packet take?
    linerate packets --rate 20k --arrivals poisson --size 64:7,576:4,1400:1
  Raw frames of 64 bytes, as many as possible, and from a memory ring as trafgen sends:
    linerate packets --raw
    linerate packets --raw --send ring:128
  The highest rate at which none is lost, here, and between two machines of yours:
    linerate packets --find --size 64
    linerate packets --find --size 64 --rig hosts --hosts hosts.toml";

/// Parses packets per second, in thousands or millions with the letter k or m.
fn parse_rate(text: &str) -> Result<f64, String> {
    let (digits, unit) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1e3),
        None => match text.strip_suffix(['m', 'M']) {
            Some(digits) => (digits, 1e6),
            None => (text, 1.0),
        },
    };
    let rate = digits.parse::<f64>().ok().map(|rate| rate * unit);
    rate.filter(|rate| (1.0..=1e9).contains(rate))
        .ok_or_else(|| {
            format!("`{text}` is no rate from 1 to 1000M packets per second, such as 100k")
        })
}

impl Arguments {
    /// The plan that the flags ask for. The sender gets the CPU that a server would have.
    pub(super) fn plan(&self, cpus: &CpuSplit) -> anyhow::Result<PacketPlan> {
        let place = self.place()?;
        ensure!(
            !self.duration.is_zero(),
            "--duration 0 leaves no time to send anything in"
        );
        ensure!(
            self.rate.is_some() || self.find || (self.burst == 1 && self.arrivals.is_none()),
            "--burst and --arrivals say how packets leave at a rate: give --rate or --find too"
        );
        ensure!(
            place != RigKind::Hosts || self.rate.is_some() || self.find,
            "between two machines nothing says how many fit: give --rate or --find"
        );
        ensure!(
            !(self.qdisc_bypass && matches!(self.send, Some(SendWay::Segments(_)))),
            "what the kernel cuts goes through the queueing discipline: leave out --qdisc-bypass, or --send single, \
             batch:N or ring:N"
        );
        let first = |cpus: &[usize]| cpus.first().copied().unwrap_or_default();
        let passes_by_qdisc = self.qdisc_bypass;
        let bytes = if self.raw {
            USUAL_FRAME_BYTES
        } else {
            USUAL_BYTES
        };
        let sizes = self.size.clone().unwrap_or_else(|| PacketSizes::of(bytes));
        let (send, receive) = match self.raw {
            true => (
                SendWay::of_frames(&sizes, passes_by_qdisc),
                ReceiveWay::Ring,
            ),
            false => (SendWay::Single, ReceiveWay::Single),
        };
        let (arrivals, burst) = self.arrivals();
        // The search starts from the rate that arrives, which between two machines is that of a
        // flood.
        let is_flood = self.find && place == RigKind::Hosts;
        let rate = if is_flood { Some(FLOOD) } else { self.rate };
        Ok(PacketPlan {
            path: match self.raw {
                true => PacketPath::Raw { passes_by_qdisc },
                false => PacketPath::Udp,
            },
            sizes,
            send: self.send.unwrap_or(send),
            receive: self.receive.unwrap_or(receive),
            pace: rate.map(|rate| PacketPace {
                rate,
                arrivals,
                burst,
            }),
            until: self.count.map_or(Until::Time(self.duration), Until::Count),
            sender_cpu: first(&cpus.server),
            receiver_cpu: first(&cpus.client),
        })
    }

    /// Where packets go: raw frames between hosts of a rig, UDP over loopback or between machines.
    pub(super) fn place(&self) -> anyhow::Result<RigKind> {
        let named = self.hosts.hosts.as_ref().map(|_| RigKind::Hosts);
        let rig = self.rig.or(named).unwrap_or(match self.raw {
            true => RigKind::Netns,
            false => RigKind::Loopback,
        });
        self.hosts.check(rig)?;
        match (rig, self.raw) {
            (RigKind::Netns, true) | (RigKind::Loopback | RigKind::Hosts, false) => Ok(rig),
            (rig, true) => bail!(
                "raw frames only ever go between two namespaces of our own, --rig netns, not to `{}`",
                rig.name()
            ),
            (rig, false) => bail!(
                "UDP goes over loopback or between your `hosts`, not on the rig `{}`; --raw is on `netns`",
                rig.name()
            ),
        }
    }

    /// What a plan sends between two machines; for a search, the time of its blocks.
    pub(super) fn spending(&self, plan: &PacketPlan) -> Spending {
        if self.find {
            return Spending::Time(find::searching_time(RigKind::Hosts));
        }
        let rate = plan.pace.map_or(0.0, |pace| pace.rate);
        let packets = match plan.until {
            Until::Time(time) => rate * time.as_secs_f64(),
            Until::Count(count) => count as f64,
        };
        Spending::Bytes(packets * plan.sizes.mean())
    }

    /// How long sending takes at most; a given number of packets may take as long as is possible.
    pub(super) fn sending_time(&self) -> Duration {
        match self.count {
            Some(_) => LONGEST,
            None => self.duration,
        }
    }

    /// How packets are spread over time at a rate, and how many leave at once.
    pub(super) fn arrivals(&self) -> (Arrivals, u32) {
        (self.arrivals.unwrap_or_default(), self.burst)
    }

    pub(super) fn tolerated_share(&self) -> f64 {
        self.loss.unwrap_or_default() / 100.0
    }
}
