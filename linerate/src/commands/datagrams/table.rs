//! What a person sees of exchanged datagrams: the rate, what was lost, what each end spent, and what
//! was seen of the way that was asked for.

use report::numbers;
use traffic::datagrams::{ReceiveWay, SendWay};

use super::{Cost, DatagramsReport};
use crate::commands::whole_machine;

pub(super) fn render(report: &DatagramsReport) -> String {
    let mut parts = vec![answer(report), table(report)];
    for doubt in &report.doubts {
        parts.push(format!("  doubt: {}; {}", doubt.what(), doubt.advice()));
    }
    parts.join("\n\n")
}

/// The answer in one sentence.
fn answer(report: &DatagramsReport) -> String {
    format!(
        "{} datagrams/s of {} bytes, {:.2} Gbit/s; {}.",
        numbers::rate(report.datagrams_per_second()),
        numbers::whole(report.plan.datagram_bytes as f64),
        report.gbit_per_second(),
        what_came(report)
    )
}

fn what_came(report: &DatagramsReport) -> String {
    let went = &report.went;
    let sent = count(went.sent.datagrams);
    let order = match went.received.out_of_order {
        0 => String::new(),
        some => format!(", {} of them late or twice", count(some)),
    };
    match went.lost() {
        0 => format!("all {sent} that were sent came{order}"),
        lost => format!("{} of {sent} were lost{order}", count(lost)),
    }
}

fn table(report: &DatagramsReport) -> String {
    let (plan, went) = (&report.plan, &report.went);
    let rows = [
        (
            "sender",
            format!("{} on CPU {}", plan.send, plan.sender_cpu),
        ),
        ("", cost(&report.of_sender())),
        ("", cut(report)),
        (
            "receiver",
            format!("{} on CPU {}", plan.receive, plan.receiver_cpu),
        ),
        ("", cost(&report.of_receiver())),
        ("", merged(report)),
        (
            "both ends",
            format!("{:.3} CPU-s per GB", report.cpu_seconds_per_gb()),
        ),
        ("machine", whole_machine(report)),
        (
            "under way",
            format!(
                "at most {} at once, in a buffer of {} bytes",
                count(went.outstanding_most),
                count(u64::from(went.held.room_bytes))
            ),
        ),
    ];
    let told = rows.iter().filter(|(_, words)| !words.is_empty());
    let lines = told.map(|(name, words)| format!("  {name:<11}{words}"));
    lines.collect::<Vec<_>>().join("\n")
}

fn whole_machine(report: &DatagramsReport) -> String {
    let Some(spent) = report.machine else {
        return "not known".to_owned();
    };
    let shown = |ns| {
        let seconds = report.per_gigabyte(ns);
        seconds.map_or_else(String::new, |seconds| format!("{seconds:.3}"))
    };
    whole_machine::words(&spent, shown, "CPU-s per GB")
}

fn cost(cost: &Cost) -> String {
    format!(
        "{:.1} datagrams per call, {:.3} CPU-s per GB, {:.3} CPU-s per million datagrams",
        cost.datagrams_per_call, cost.cpu_seconds_per_gb, cost.cpu_seconds_per_million
    )
}

/// What was seen of segments.
fn cut(report: &DatagramsReport) -> String {
    match (report.plan.send, report.went.held.segment_bytes) {
        (SendWay::Segments(_), Some(bytes)) => {
            format!("the kernel holds UDP_SEGMENT {}", count(u64::from(bytes)))
        }
        _ => String::new(),
    }
}

/// What was seen of merging.
fn merged(report: &DatagramsReport) -> String {
    let received = &report.went.received;
    let held = if report.went.held.may_merge {
        "on"
    } else {
        "off"
    };
    let why = match report.plan.send {
        SendWay::Segments(_) => "",
        _ => ", as none were sent as segments",
    };
    match (report.plan.receive, received.merged) {
        (ReceiveWay::Merged, 0) => {
            format!("the kernel holds UDP_GRO {held}; it merged none{why}")
        }
        (ReceiveWay::Merged, some) => format!(
            "the kernel holds UDP_GRO {held}; it merged {} datagrams, up to {} bytes in one piece",
            count(some),
            count(received.largest_bytes as u64)
        ),
        _ => String::new(),
    }
}

fn count(count: u64) -> String {
    numbers::whole(count as f64)
}
