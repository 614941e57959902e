//! The flags of `linerate stream`, and the plan that follows from them.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{bail, ensure};
use model::rig::RigKind;
use traffic::stream::{Carrier, ReceiveBy, SendBy, StreamPlan, StreamUntil, Way};
use wire::iperf3::{
    DATAGRAM_BYTES, MOST_BLOCK_BYTES, MOST_BUFFER_BYTES, MOST_SEGMENT_BYTES, MOST_STREAMS,
};

use super::units::{parse_bytes, parse_rate};
use crate::listening;
use crate::rig_flags::HostsFlag;
use crate::values;

/// Default rate of datagrams, that of iperf3, bit/s: it harms no line.
const USUAL_DATAGRAM_BITS: u64 = 1_048_576;
/// How long datagrams are echoed before the streams: enough for a median and p90 of an idle path.
const ECHO_BEFORE: Duration = Duration::from_secs(1);

/// Least pace, a kilobyte a second: below it one packet takes longer than most tests.
const LEAST_PACE_BITS: u64 = 8_000;
/// Flags that exclude `--listen`: a listener does what its clients ask for.
const OF_CLIENTS: [&str; 25] = [
    "host",
    "rig",
    "streams",
    "reverse",
    "both",
    "udp",
    "time",
    "until_sure",
    "bytes",
    "interval",
    "write_size",
    "send",
    "z",
    "rate",
    "pace",
    "congestion",
    "mss",
    "tos",
    "buffer",
    "latency",
    "mine",
    "hosts",
    "out",
    "json",
    "iperf3_json",
];

/// Measure how much a path carries, by TCP or UDP, and what limits it
///
/// Without HOST both ends are started: over loopback or, with --rig netns, between two namespaces,
/// on CPUs of their own; with --rig hosts, by SSH on the two machines of your hosts file. With
/// --listen it accepts streams from any number of clients at once, and with HOST it sends them to
/// such a server, or to a stock iperf3 -s: both speak iperf3's protocol.
///
/// Each stream has a thread of its own at both ends. Receivers discard the data within the kernel,
/// by MSG_TRUNC, unless --receive copy makes them copy it out as iperf3 does. For each interval and
/// stream the kernel's statistics of the connection are read (TCP_INFO), and the limit is named.
///
/// Streams to this machine's loopback and within rigs are always allowed. Any other host must be in
/// your hosts file or be named after --mine.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The server, as HOST, HOST:PORT or unix:PATH; port 5201 unless given
    #[arg(value_name = "HOST", conflicts_with = "rig")]
    pub(super) host: Option<String>,
    /// Accept streams until Ctrl-C, also at unix:PATH; a port alone means loopback [default:
    /// 127.0.0.1:5201]
    #[arg(long, value_name = "[ADDR:]PORT", num_args = 0..=1, default_missing_value = "5201", value_parser = listening::parse, conflicts_with_all = OF_CLIENTS)]
    pub(super) listen: Option<sys::address::Address>,
    /// The other end may be iperf3: accept its clients, or ask its server for nothing else
    #[arg(long)]
    pub(super) iperf3: bool,
    /// Start both ends: loopback, netns (two namespaces joined by a pair of devices) or hosts (over
    /// SSH)
    #[arg(long, value_name = "RIG", value_parser = parse_rig)]
    rig: Option<RigKind>,
    /// Streams each way
    #[arg(short = 'P', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_STREAMS)))]
    streams: u32,
    /// Send from the server to the client
    #[arg(short = 'R', long, conflicts_with = "both")]
    reverse: bool,
    /// Send both ways at once
    #[arg(long, visible_alias = "bidir")]
    both: bool,
    /// Use UDP, at 1 Mbit/s a stream unless --rate is given
    #[arg(short, long)]
    udp: bool,
    /// How long to send
    #[arg(short = 't', long = "for", value_name = "TIME", default_value = "10s", value_parser = values::parse_duration)]
    time: Duration,
    /// End early, once the rate without credit is known to within 1.5 %
    #[arg(long, conflicts_with_all = ["bytes", "udp"])]
    pub(super) until_sure: bool,
    /// Stop after this many bytes, over all streams of a way, such as 500M
    #[arg(short = 'n', long, value_name = "N", conflicts_with = "time", value_parser = parse_bytes)]
    bytes: Option<u64>,
    /// Time between two readings of the connections
    #[arg(hide_short_help = true, short, long, value_name = "TIME", default_value = "1s", value_parser = values::parse_duration)]
    interval: Duration,
    /// Bytes of each write or datagram [default: 640K, or what a packet carries]
    ///
    /// With --rate, writes of TCP have 128K, as in iperf3.
    #[arg(short = 'l', long, visible_alias = "length", value_name = "N", value_parser = parse_bytes)]
    write_size: Option<u64>,
    /// How to send: copy, sendfile, splice or zerocopy (MSG_ZEROCOPY)
    #[arg(long, value_name = "HOW", default_value_t, value_parser = values::one_of::<SendBy>(SendBy::ALL.map(SendBy::name)), hide_possible_values = true, conflicts_with_all = ["udp", "z"])]
    send: SendBy,
    /// Send by sendfile, by iperf3's name for it
    #[arg(short = 'Z', hide_short_help = true, conflicts_with = "udp")]
    z: bool,
    /// How to receive: discard (MSG_TRUNC) or copy
    #[arg(
        long,
        value_name = "HOW",
        default_value_t,
        value_parser = values::one_of::<ReceiveBy>(ReceiveBy::ALL.map(ReceiveBy::name)),
        hide_possible_values = true,
        conflicts_with = "udp"
    )]
    pub(super) receive: ReceiveBy,
    /// Rate of each stream in bit/s, such as 50M or 1Gbit/s, held by the sender; 0 for no limit
    #[arg(short = 'b', long, visible_alias = "bitrate", value_name = "RATE", value_parser = parse_rate)]
    rate: Option<u64>,
    /// Rate of each TCP stream, held by the kernel (SO_MAX_PACING_RATE)
    #[arg(hide_short_help = true, long, visible_alias = "fq-rate", value_name = "RATE", value_parser = parse_rate)]
    pace: Option<u64>,
    /// Congestion control, such as cubic or bbr [default: each machine's]
    #[arg(
        hide_short_help = true,
        short = 'C',
        long,
        value_name = "NAME",
        value_parser = parse_name,
        conflicts_with = "udp"
    )]
    congestion: Option<String>,
    /// Largest segment, bytes (TCP_MAXSEG)
    #[arg(hide_short_help = true, short = 'M', long, visible_alias = "set-mss", value_name = "N", conflicts_with = "udp", value_parser = clap::value_parser!(u32).range(88..=i64::from(MOST_SEGMENT_BYTES)))]
    mss: Option<u32>,
    /// Type of service of the packets, 0 to 255
    #[arg(
        hide_short_help = true,
        short = 'S',
        long,
        value_name = "N",
        default_value_t = 0,
        hide_default_value = true
    )]
    tos: u8,
    /// Size of the sockets' buffers in bytes, which then no longer grow
    #[arg(hide_short_help = true, short = 'w', long, visible_alias = "window", value_name = "N", value_parser = parse_bytes)]
    buffer: Option<u64>,
    /// Measure latency under load: echo small datagrams before and beside the streams
    #[arg(long, conflicts_with = "iperf3")]
    latency: bool,
    /// This host is mine and may be loaded
    #[arg(hide_short_help = true, long, value_name = "HOST", requires = "host")]
    pub(super) mine: Vec<String>,
    #[command(flatten)]
    pub(super) hosts: HostsFlag,
    /// Save each interval in this folder as it ends, and a report of them
    #[arg(long, value_name = "FOLDER")]
    pub(super) out: Option<PathBuf>,
    /// Print one JSON value (docs/schema/stream.json)
    #[arg(long)]
    pub(super) json: bool,
    /// Print JSON in the format of iperf3 -J
    #[arg(long, conflicts_with = "json")]
    pub(super) iperf3_json: bool,
}

const EXAMPLES: &str = "\
Examples:
  What do loopback and this machine's CPUs carry, and what is the limit?
    linerate stream
  Eight streams between two namespaces, both ways at once:
    linerate stream --rig netns -P 8 --both
  Between two other machines of yours:
    linerate stream --rig hosts --hosts hosts.toml
  A server and its client; either could be iperf3:
    linerate stream --listen --iperf3
    linerate stream 127.0.0.1
  How long do others wait while the path is full?
    linerate link --rate 20Mbit/s --delay 20ms --server 'linerate stream --listen 0.0.0.0:5201' -- \\
      sh -c 'linerate stream $LINERATE_SERVER --mine $LINERATE_SERVER --latency'
  What does it cost without a copy at either end?
    linerate stream --send sendfile
  Which rate remains once a cloud's credit is spent, and how much credit is there?
    linerate stream 127.0.0.1 --for 1h --until-sure --out credit
  For a script that reads iperf3's JSON:
    linerate stream 127.0.0.1 --iperf3-json | jq .end.sum_received.bits_per_second";

fn parse_name(name: &str) -> Result<String, String> {
    match wire::iperf3::is_name(name) {
        true => Ok(name.to_owned()),
        false => Err("expected the name of a congestion control, such as `cubic`".to_owned()),
    }
}

fn parse_rig(name: &str) -> Result<RigKind, String> {
    let kinds = [RigKind::Loopback, RigKind::Netns, RigKind::Hosts];
    let kind = kinds.into_iter().find(|kind| kind.name() == name);
    kind.ok_or_else(|| {
        "expected `loopback`, `netns` or `hosts`, where both ends can be started".to_owned()
    })
}

impl Arguments {
    pub(super) fn plan(&self) -> anyhow::Result<StreamPlan> {
        self.check_ends()?;
        ensure!(
            !self.time.is_zero(),
            "--for 0 leaves no time to send anything; give more"
        );
        ensure!(
            self.bytes != Some(0),
            "-n 0 leaves nothing to send; give more"
        );
        ensure!(
            self.interval >= Duration::from_millis(50),
            "--interval {} ms is too short to read connections in; 50ms is the least",
            self.interval.as_millis()
        );
        let until = self
            .bytes
            .map_or(StreamUntil::Time(self.time), StreamUntil::Bytes);
        Ok(StreamPlan {
            carrier: self.carrier(),
            ways: match (self.both, self.reverse) {
                (true, _) => vec![Way::Up, Way::Down],
                (false, true) => vec![Way::Down],
                (false, false) => vec![Way::Up],
            },
            streams: self.streams,
            until,
            write_bytes: self
                .write_size
                .map(|bytes| self.write_bytes(bytes))
                .transpose()?,
            send: self.send(),
            // A Unix socket cannot discard data within the kernel.
            receive: match self.carrier() {
                Carrier::Unix => ReceiveBy::Copy,
                _ => self.receive,
            },
            rate_bits: self
                .rate
                .unwrap_or(if self.udp { USUAL_DATAGRAM_BITS } else { 0 }),
            pace_bits: self.pace.unwrap_or(0),
            congestion: self.congestion.clone(),
            segment_bytes: self.mss,
            type_of_service: self.tos,
            buffer_bytes: self.buffer.map(buffer_bytes).transpose()?,
            interval: self.interval,
            echo_before: self.latency.then_some(ECHO_BEFORE),
            is_to_iperf3: self.iperf3,
        })
    }

    /// Returns the rig on which both ends are started, if there is no HOST.
    pub(super) fn rig(&self) -> RigKind {
        let named = self.hosts.hosts.as_ref().map(|_| RigKind::Hosts);
        self.rig.or(named).unwrap_or(RigKind::Loopback)
    }

    fn carrier(&self) -> Carrier {
        let host = self.host.as_deref().unwrap_or_default();
        match host.starts_with(listening::UNIX) {
            true => Carrier::Unix,
            false if self.udp => Carrier::Udp,
            false => Carrier::Tcp,
        }
    }

    /// Refuses flags that an end would ignore.
    fn check_ends(&self) -> anyhow::Result<()> {
        let of_networks = [
            ("--udp", self.udp),
            ("--latency", self.latency),
            ("--iperf3", self.iperf3),
            ("--iperf3-json", self.iperf3_json),
            ("--pace", self.pace.is_some()),
            ("--congestion", self.congestion.is_some()),
            ("--mss", self.mss.is_some()),
            ("--tos", self.tos > 0),
            ("--send zerocopy", self.send() == SendBy::Zerocopy),
        ];
        let asked = of_networks.iter().find(|(_, is_asked)| *is_asked);
        if let (Carrier::Unix, Some((flag, _))) = (self.carrier(), asked) {
            bail!("{flag} is about networks, and a Unix socket is none; leave it out");
        }
        ensure!(
            !self.iperf3 || self.host.is_some(),
            "--iperf3 says what the other end is: it goes with --listen or with a HOST where `iperf3 -s` runs"
        );
        if self.host.is_none() {
            self.hosts.check(self.rig())?;
        }
        ensure!(
            self.out.is_none() || self.host.is_some() || self.rig() != RigKind::Hosts,
            "--out saves the facts of the machine where it runs, and with --rig hosts neither end is here: run it on the \
             client's machine, with the server's HOST"
        );
        ensure!(
            !self.udp || self.pace.is_none(),
            "--pace is held by the kernel for TCP alone; datagrams are held to a rate by --rate (-b)"
        );
        let bits = self.pace.unwrap_or(LEAST_PACE_BITS);
        ensure!(
            bits >= LEAST_PACE_BITS,
            "--pace {bits} holds even one packet back for longer than a second; {LEAST_PACE_BITS} bit/s is the least"
        );
        Ok(())
    }

    fn send(&self) -> SendBy {
        match self.z {
            true => SendBy::Sendfile,
            false => self.send,
        }
    }

    /// Checks that a size of writes or datagrams is one that iperf3's protocol has.
    fn write_bytes(&self, bytes: u64) -> anyhow::Result<u32> {
        let (least, most) = match self.udp {
            true => (*DATAGRAM_BYTES.start(), *DATAGRAM_BYTES.end()),
            false => (1, MOST_BLOCK_BYTES),
        };
        let fits = u32::try_from(bytes)
            .ok()
            .filter(|bytes| (least..=most).contains(bytes));
        fits.ok_or_else(|| {
            anyhow::anyhow!(
                "--write-size {bytes}: {} have {least} to {most} bytes",
                match self.udp {
                    true => "datagrams, with their number,",
                    false => "writes",
                }
            )
        })
    }
}

fn buffer_bytes(bytes: u64) -> anyhow::Result<u32> {
    let fits = u32::try_from(bytes)
        .ok()
        .filter(|bytes| (1..=MOST_BUFFER_BYTES).contains(bytes));
    fits.ok_or_else(|| {
        anyhow::anyhow!("--buffer {bytes}: buffers have 1 to {MOST_BUFFER_BYTES} bytes")
    })
}
