//! `linerate packets`: UDP from one CPU to another, by one system call for each packet or for many.

mod arguments;
mod doubts;

use std::process::ExitCode;

use anyhow::Context as _;
use machine::instruments::cpu::MachineWatch;
use model::cpus::CpuWish;
use model::doubt::{WordedDoubt, worded};
use model::reading::{MachineCpu, MachinePerUnit};
use schemars::JsonSchema;
use serde::Serialize;
use traffic::packets::{Exchanged, PacketPlan, exchange};

use super::whole_machine;
use crate::console::Console;
use crate::shape;
use crate::told::{self, template};
pub(crate) use arguments::Arguments;

/// Packets of UDP sent from one CPU of this machine to another, and what they cost each end.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Packets {
    /// Version of the program.
    linerate_version: &'static str,
    /// Payload of each, bytes.
    packet_bytes: usize,
    /// From before the first was sent until the last was received, s.
    window_seconds: f64,
    /// Packets that the kernel took, count.
    sent: u64,
    /// Packets that came, each of the size that was sent, count.
    received: u64,
    /// sent − received: those that had not come a second after the others of their burst,
    /// count.
    lost: u64,
    /// Of those received, such as came after one that was sent later, or once more, count.
    out_of_order: u64,
    /// received ÷ window_seconds.
    packets_per_second: f64,
    /// Payload received, Gbit/s.
    throughput_gbit_per_second: f64,
    /// CPU time of both ends' calls per 10⁹ bytes of payload received, s.
    cpu_seconds_per_gb: f64,
    /// CPU time of all CPUs of this machine per 10⁹ bytes of payload received, getting ready
    /// included, s; null where it is hidden.
    machine_cpu_seconds_per_gb: Option<MachinePerUnit>,
    /// The end that sends.
    sender: Sender,
    /// The end that receives.
    receiver: Receiver,
    /// Packets that may be under way at once, count.
    outstanding_most: u64,
    /// Where the two ends were not as they should be.
    doubts: Vec<WordedDoubt>,
}

/// The end that receives.
#[derive(Serialize, JsonSchema)]
struct Receiver {
    /// As it was asked for: single, batch:N or merged.
    how: String,
    /// The CPU that it runs on, by the kernel's number.
    cpu: usize,
    /// System calls that received, count.
    calls: u64,
    /// Whether the kernel says that it may merge what came in a row (UDP_GRO).
    may_merge: bool,
    /// Packets that came in one piece with others, count.
    merged: u64,
    /// The most that came in one piece, bytes.
    largest_bytes: usize,
    /// The socket's receive buffer (SO_RCVBUF as the kernel tells it), its own account
    /// included, bytes.
    buffer_bytes: u32,
    #[serde(flatten)]
    cost: Cost,
}

/// The end that sends.
#[derive(Serialize, JsonSchema)]
struct Sender {
    /// As it was asked for: single, batch:N or segments:N.
    how: String,
    /// The CPU that it runs on, by the kernel's number.
    cpu: usize,
    /// System calls that sent, count.
    calls: u64,
    /// What the kernel says that it cuts each send into (UDP_SEGMENT), bytes; null where that
    /// was not asked for.
    segment_bytes: Option<u32>,
    #[serde(flatten)]
    cost: Cost,
}

/// What an end spent on what the receiver got.
#[derive(Serialize, JsonSchema)]
struct Cost {
    /// Packets that it sent or received, for each of its calls.
    packets_per_call: f64,
    /// CPU time of the calls per 10⁹ bytes of payload received, s.
    cpu_seconds_per_gb: f64,
    /// CPU time of the calls per 10⁶ packets received, s.
    cpu_seconds_per_million: f64,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    let cpus = machine::cpus::here(&CpuWish::default()).context("asking for CPUs")?;
    let plan = arguments.plan(&cpus)?;
    let mut watch = MachineWatch::new();
    watch.open();
    let went = exchange(&plan)?;
    let packets = Packets::of(&plan, &went, watch.spent());
    told::say(&packets, template!("packets"), arguments.json, console);
    Ok(ExitCode::SUCCESS)
}

impl Packets {
    /// What became of a plan; the machine's time is with getting ready for it.
    fn of(plan: &PacketPlan, went: &Exchanged, machine: Option<MachineCpu>) -> Self {
        let (sent, received) = (&went.sent, &went.received);
        let window_seconds = went.window_ns.max(1) as f64 / 1e9;
        let bytes = received.packets as f64 * plan.packet_bytes as f64;
        let cost = |packets: u64, calls: u64, cpu_ns: u64| Cost {
            packets_per_call: packets as f64 / calls as f64,
            // ns per byte are s per GB, and ns for each are s for a thousand million.
            cpu_seconds_per_gb: cpu_ns as f64 / bytes,
            cpu_seconds_per_million: cpu_ns as f64 / received.packets as f64 / 1e3,
        };
        let of_sender = cost(sent.packets, sent.calls, sent.cpu_ns);
        let of_receiver = cost(received.packets, received.calls, received.cpu_ns);
        let mut doubts = doubts::doubts(plan, went);
        doubts.extend(whole_machine::doubt());
        Self {
            linerate_version: shape::VERSION,
            packet_bytes: plan.packet_bytes,
            window_seconds,
            sent: sent.packets,
            received: received.packets,
            lost: went.lost(),
            out_of_order: received.out_of_order,
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
            outstanding_most: went.outstanding_most,
            doubts: worded(&doubts),
        }
    }
}
