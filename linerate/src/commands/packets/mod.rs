//! `linerate packets`: sends UDP or raw frames from one CPU to another, by one system call for each
//! or for many.

mod arguments;
mod doubts;
mod find;

use std::path::Path;
use std::process::ExitCode;

use agent::packets::FarEnds;
use anyhow::Context as _;
use machine::cpus::CpuSplit;
use machine::instruments::cpu::MachineWatch;
use machine::rig::Lab;
use model::Histogram;
use model::Topology;
use model::cpus::CpuWish;
use model::doubt::{WordedDoubt, worded};
use model::reading::{MachineCpu, MachinePerUnit};
use model::rig::RigKind;
use schemars::JsonSchema;
use serde::Serialize;
use sys::stop::{Again, StopSignal};
use traffic::packets::{Exchanged, PacketPlan, exchange};

use super::quantiles::Quantiles;
use super::whole_machine;
use crate::agents::{FAR_SILENCE, far_roles};
use crate::console::Console;
use crate::failure::words;
use crate::ourselves::OURSELVES;
use crate::told::{self, template};
use crate::{shape, stopping};
pub(crate) use arguments::Arguments;
use find::HighestRate;

/// Packets sent from one CPU of this machine to another, what they cost each end, and what became of them.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Packets {
    /// Version of the program.
    linerate_version: &'static str,
    /// What carries them: udp, or raw frames.
    #[schemars(extend("enum" = ["udp", "raw"]))]
    path: &'static str,
    /// Where both ends were: loopback, netns (raw frames between two namespaces) or hosts over SSH.
    #[schemars(extend("enum" = ["loopback", "netns", "hosts"]))]
    place: &'static str,
    /// Bytes of each packet, or several sizes with their shares: for UDP the payload, for raw
    /// frames everything but the checksum.
    size: String,
    /// Mean size of a packet, bytes.
    packet_bytes: f64,
    /// Rate at which packets were to leave, packets/s; null where as many left as fitted.
    asked_per_second: Option<f64>,
    /// How packets were spread over time: uniform or poisson; null where there is no rate.
    arrivals: Option<&'static str>,
    /// From before the first was sent until the last was received, s; between two machines the longer of the
    /// sending and of the receiving.
    window_seconds: f64,
    /// Packets that were given to the kernel, count.
    sent: u64,
    /// Packets that arrived, each of the size that was sent, count.
    received: u64,
    /// Packets that had not arrived a second after the others of their burst, or, at a rate, a
    /// tenth of a second after the last, count.
    lost: u64,
    /// lost ÷ sent, 0 to 1.
    lost_share: f64,
    /// Received packets that arrived after one that was sent later, count.
    out_of_order: u64,
    /// Received packets that had arrived before, count.
    duplicates: u64,
    /// received ÷ window_seconds.
    packets_per_second: f64,
    /// Bytes received, as `size` counts them, Gbit/s.
    throughput_gbit_per_second: f64,
    /// CPU time of both ends' calls per 10⁹ bytes received, as `size` counts them, s.
    cpu_seconds_per_gb: f64,
    /// CPU time of all CPUs of this machine per 10⁹ bytes received, preparation and, at a rate, the
    /// sender's busy waiting included, s; null where it is hidden, with --find, and where the ends
    /// are on other machines.
    machine_cpu_seconds_per_gb: Option<MachinePerUnit>,
    /// The end that sends.
    sender: Sender,
    /// The end that receives.
    receiver: Receiver,
    /// From before the call that sent a packet until it was received, by one clock; null where there is no
    /// rate, and between two machines.
    one_way_us: Option<Times>,
    /// How much later than due packets left, a burst counted once; null where there is no rate.
    sent_late_us: Option<Times>,
    /// Packets that may be under way at once, count; null where there is a rate.
    outstanding_most: Option<u64>,
    /// What --find found; the other figures are then of the last block that held. Null without
    /// --find.
    highest: Option<HighestRate>,
    /// Where the two ends were not as they should be.
    doubts: Vec<WordedDoubt>,
}

/// Times of packets.
#[derive(Serialize, JsonSchema)]
struct Times {
    #[serde(flatten)]
    quantiles: Quantiles,
    /// The longest, µs.
    max: Option<f64>,
}

/// The end that receives.
#[derive(Serialize, JsonSchema)]
struct Receiver {
    /// How it receives, as asked for: single, batch:N or merged; ring for raw frames.
    how: String,
    /// The CPU that it runs on, by the kernel's number.
    cpu: usize,
    /// System calls that received packets, or for a ring the turns that found something in it,
    /// count.
    calls: u64,
    /// Whether the kernel says that it may merge packets that arrive in a row (UDP_GRO).
    may_merge: bool,
    /// Packets that arrived in one piece with others, count.
    merged: u64,
    /// The largest piece that arrived, bytes.
    largest_bytes: usize,
    /// The socket's receive buffer (SO_RCVBUF as the kernel reports it), the kernel's own
    /// bookkeeping included, bytes; 0 for a ring.
    buffer_bytes: u32,
    #[serde(flatten)]
    cost: Cost,
}

/// The end that sends.
#[derive(Serialize, JsonSchema)]
struct Sender {
    /// How it sends, as asked for: single, batch:N, segments:N or ring:N.
    how: String,
    /// The CPU that it runs on, by the kernel's number.
    cpu: usize,
    /// System calls that sent, count.
    calls: u64,
    /// Length of the segments into which the kernel says that it cuts each send (UDP_SEGMENT),
    /// bytes; null where that was not asked for.
    segment_bytes: Option<u32>,
    #[serde(flatten)]
    cost: Cost,
}

/// What an end spent on the packets that were received.
#[derive(Serialize, JsonSchema)]
struct Cost {
    /// Packets that it sent or received per call.
    packets_per_call: f64,
    /// CPU time of the calls per 10⁹ bytes received, as `size` counts them, s.
    cpu_seconds_per_gb: f64,
    /// CPU time of the calls per 10⁶ packets received, s.
    cpu_seconds_per_million: f64,
    /// CPU time of the calls per packet received, ns.
    cpu_ns_per_packet: f64,
    /// Packets received per second of this end's CPU time.
    packets_per_cpu_second: f64,
}

/// What brings packets from one end to the other.
enum Carrier {
    Loopback,
    Lab(Lab),
    Far(Box<FarEnds>),
}

impl Carrier {
    fn at(place: RigKind, arguments: &Arguments, console: &Console) -> anyhow::Result<Self> {
        Ok(match place {
            RigKind::Netns => Self::Lab(Lab::build(Path::new(OURSELVES), Topology::Netns)?),
            RigKind::Hosts => {
                let hosts = arguments.hosts.find(console)?;
                let ends = far_roles(&hosts)?;
                let address = hosts.host.server.address;
                let silence = FAR_SILENCE.saturating_add(arguments.sending_time());
                Self::Far(Box::new(
                    FarEnds::start(ends, address, silence).map_err(words)?,
                ))
            }
            _ => Self::Loopback,
        })
    }

    fn exchange(&mut self, plan: &PacketPlan, stop: &StopSignal) -> anyhow::Result<Exchanged> {
        match self {
            Self::Loopback => Ok(exchange(plan)?),
            Self::Lab(lab) => {
                let program = Path::new(OURSELVES);
                agent::packets::exchange_between(program, lab, plan, stop).map_err(words)
            }
            Self::Far(ends) => ends.exchange(plan, stop).map_err(words),
        }
    }
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    let place = arguments.place()?;
    // What was measured until a signal is still reported.
    let stop = StopSignal::listen(Again::Kills)?;
    let cpus = match place {
        RigKind::Hosts => CpuSplit::default(),
        _ => machine::cpus::here(&CpuWish::default()).context("asking for CPUs")?,
    };
    let mut plan = arguments.plan(&cpus)?;
    let mut carrier = Carrier::at(place, arguments, console)?;
    if let Carrier::Far(ends) = &carrier {
        [plan.sender_cpu, plan.receiver_cpu] = ends.cpus;
        console.note(&arguments.spending(&plan).forecast());
    }
    let mut through = |plan: &PacketPlan| carrier.exchange(plan, &stop);
    let mut watch = MachineWatch::new();
    watch.open();
    let packets = if arguments.find {
        let (spread, tolerated) = (arguments.arrivals(), arguments.tolerated_share());
        let found = find::highest(place, &plan, spread, tolerated, console, through);
        found.map(|(plan, went, highest)| Packets {
            highest: Some(highest),
            ..Packets::of(place, &plan, &went, None)
        })
    } else {
        through(&plan).map(|went| {
            let spent = watch.spent().filter(|_| place != RigKind::Hosts);
            Packets::of(place, &plan, &went, spent)
        })
    };
    let Some(signal) = sys::stop::heard() else {
        told::say(&packets?, template!("packets"), arguments.json, console);
        return Ok(ExitCode::SUCCESS);
    };
    let when = match &packets {
        Err(_) => ", before there were figures",
        Ok(_) if arguments.find => ", in the middle of the search",
        Ok(_) => "",
    };
    console.error(&format!("stopped by {}{when}", stopping::name(signal)));
    if let Ok(packets) = &packets {
        told::say(packets, template!("packets"), arguments.json, console);
    }
    Ok(stopping::exit_code(signal))
}

impl From<&Histogram> for Times {
    fn from(histogram: &Histogram) -> Self {
        Self {
            quantiles: histogram.into(),
            max: histogram.quantile(1.0).map(|ns| ns as f64 / 1e3),
        }
    }
}

impl Packets {
    /// The result of a plan; the machine's CPU time includes the preparation for it.
    fn of(
        place: RigKind,
        plan: &PacketPlan,
        went: &Exchanged,
        machine: Option<MachineCpu>,
    ) -> Self {
        let (sent, received) = (&went.sent, &went.received);
        let window_seconds = went.window_ns.max(1) as f64 / 1e9;
        let bytes = received.bytes as f64;
        let cost = |packets: u64, calls: u64, cpu_ns: u64| Cost {
            packets_per_call: packets as f64 / calls as f64,
            // ns per byte are s per GB, and ns per packet are s per thousand million packets.
            cpu_seconds_per_gb: cpu_ns as f64 / bytes,
            cpu_seconds_per_million: cpu_ns as f64 / received.packets as f64 / 1e3,
            cpu_ns_per_packet: cpu_ns as f64 / received.packets as f64,
            packets_per_cpu_second: received.packets as f64 / cpu_ns.max(1) as f64 * 1e9,
        };
        let of_sender = cost(sent.packets, sent.calls, sent.cpu_ns);
        let of_receiver = cost(received.packets, received.calls, received.cpu_ns);
        let mut doubts = doubts::doubts(place, plan, went);
        if place != RigKind::Hosts {
            doubts.extend(whole_machine::doubt());
        }
        Self {
            linerate_version: shape::VERSION,
            path: if plan.is_raw() { "raw" } else { "udp" },
            place: place.name(),
            size: plan.sizes.to_string(),
            packet_bytes: plan.sizes.mean(),
            asked_per_second: plan.pace.map(|pace| pace.rate),
            arrivals: plan.pace.map(|pace| pace.arrivals.name()),
            window_seconds,
            sent: sent.packets,
            received: received.packets,
            lost: went.lost(),
            lost_share: went.lost() as f64 / sent.packets.max(1) as f64,
            out_of_order: received.disorder.late,
            duplicates: received.disorder.twice,
            packets_per_second: received.packets as f64 / window_seconds,
            throughput_gbit_per_second: bytes * 8.0 / 1e9 / window_seconds,
            cpu_seconds_per_gb: of_sender.cpu_seconds_per_gb + of_receiver.cpu_seconds_per_gb,
            machine_cpu_seconds_per_gb: MachinePerUnit::of(machine, |ns| {
                (bytes > 0.0).then(|| ns as f64 / bytes)
            }),
            sender: Sender {
                how: plan.send.to_string(),
                cpu: plan.sender_cpu,
                calls: sent.calls,
                segment_bytes: went.held.segment_bytes,
                cost: of_sender,
            },
            receiver: Receiver {
                how: plan.receive.to_string(),
                cpu: plan.receiver_cpu,
                calls: received.calls,
                may_merge: went.held.may_merge,
                merged: received.merged,
                largest_bytes: received.largest_bytes,
                buffer_bytes: went.held.room_bytes,
                cost: of_receiver,
            },
            one_way_us: (received.one_way.total() > 0).then(|| (&received.one_way).into()),
            sent_late_us: plan.pace.map(|_| (&sent.late).into()),
            outstanding_most: plan.pace.is_none().then_some(went.outstanding_most),
            highest: None,
            doubts: worded(&doubts),
        }
    }
}
