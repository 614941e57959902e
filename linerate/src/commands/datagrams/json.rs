//! What datagrams cost as one JSON value of a stable shape.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Cost, DatagramsReport};
use crate::shape;
use model::doubt::{WordedDoubt, worded};
use model::reading::MachinePerUnit;

/// Datagrams of UDP sent from one CPU of this machine to another, and what they cost each end.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Datagrams {
    /// Version of the program.
    linerate_version: &'static str,
    /// Payload of each, bytes.
    datagram_bytes: usize,
    /// From before the first was sent until the last was received, s.
    window_seconds: f64,
    /// Datagrams that the kernel took, count.
    sent: u64,
    /// Datagrams that came, each of the size that was sent, count.
    received: u64,
    /// sent − received: those that had not come a second after the others of their burst,
    /// count.
    lost: u64,
    /// Of those received, such as came after one that was sent later, or once more, count.
    out_of_order: u64,
    /// received ÷ window_seconds.
    datagrams_per_second: f64,
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
    /// Datagrams that may be under way at once, count.
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
    /// Datagrams that came in one piece with others, count.
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

pub(super) fn render(report: &DatagramsReport) -> String {
    shape::lines(value(report))
}

fn value(report: &DatagramsReport) -> Datagrams {
    let (plan, went) = (&report.plan, &report.went);
    Datagrams {
        linerate_version: shape::VERSION,
        datagram_bytes: plan.datagram_bytes,
        window_seconds: report.seconds(),
        sent: went.sent.datagrams,
        received: went.received.datagrams,
        lost: went.lost(),
        out_of_order: went.received.out_of_order,
        datagrams_per_second: report.datagrams_per_second(),
        throughput_gbit_per_second: report.gbit_per_second(),
        cpu_seconds_per_gb: report.cpu_seconds_per_gb(),
        machine_cpu_seconds_per_gb: MachinePerUnit::of(report.machine, |ns| {
            report.per_gigabyte(ns)
        }),
        sender: sender(report),
        receiver: receiver(report),
        outstanding_most: went.outstanding_most,
        doubts: worded(&report.doubts),
    }
}

fn sender(report: &DatagramsReport) -> Sender {
    let (plan, went) = (&report.plan, &report.went);
    Sender {
        how: plan.send.to_string(),
        cpu: plan.sender_cpu,
        calls: went.sent.calls,
        segment_bytes: went.held.segment_bytes,
        cost: report.of_sender(),
    }
}

fn receiver(report: &DatagramsReport) -> Receiver {
    let (plan, went) = (&report.plan, &report.went);
    Receiver {
        how: plan.receive.to_string(),
        cpu: plan.receiver_cpu,
        calls: went.received.calls,
        may_merge: went.held.may_merge,
        merged: went.received.merged,
        largest_bytes: went.received.largest_bytes,
        buffer_bytes: went.held.room_bytes,
        cost: report.of_receiver(),
    }
}
