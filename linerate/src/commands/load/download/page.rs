//! What a person sees of a download: the rate, who had no more to give, and what it cost.

use report::numbers;

use super::{LoadDownloadReport, ServerSpent};
use crate::commands::limits;
use crate::commands::load::page::{doubts, failures};
use crate::commands::whole_machine;

pub(super) fn render(report: &LoadDownloadReport) -> String {
    let mut parts = vec![answer(report), table(report)];
    parts.extend(failures(&report.outcome.ledger.errors, &report.plan));
    parts.extend(doubts(&report.outcome.doubts, &report.notes));
    parts.join("\n\n")
}

/// The answer in one sentence.
fn answer(report: &LoadDownloadReport) -> String {
    if report.outcome.received_bytes == 0 {
        return format!("Nothing came from {}.", report.shown);
    }
    let client = numbers::share(report.outcome.client_busy_share);
    let server = match report.server_busy_share() {
        Some(share) => format!(", the server's at {}", numbers::share(share)),
        None => String::new(),
    };
    let full = match &report.full_sides()[..] {
        [] if report.server_busy_share().is_none() => {
            "the client was not at its limit of one CPU, and of the server's that is not known"
        }
        [] => "neither side was at its limit of one CPU",
        full => limits::words(full),
    };
    format!(
        "{:.2} Gbit/s over {}; the client's busiest thread had a CPU at {client}{server}: {full}.",
        report.gbit_per_second(),
        connections(report),
    )
}

fn connections(report: &LoadDownloadReport) -> String {
    match report.plan.connections {
        1 => "1 connection".to_owned(),
        more => format!("{} connections", numbers::whole(f64::from(more))),
    }
}

fn table(report: &LoadDownloadReport) -> String {
    let outcome = &report.outcome;
    let mut rows = vec![
        (
            "target",
            format!("{} ({})", report.shown, report.plan.address),
        ),
        ("first answer", first(report)),
    ];
    if let Some(agreed) = &report.first.tls {
        rows.push(("tls", format!("TLS {}, {}", agreed.version, agreed.cipher)));
    }
    let whole = |count: u64| numbers::whole(count as f64);
    rows.push(("scored", scored(report)));
    rows.push((
        "received",
        format!(
            "{:.3} GB, {:.2} Gbit/s",
            report.gigabytes(),
            report.gbit_per_second()
        ),
    ));
    rows.push((
        "bodies",
        format!(
            "{} whole, {} failed, {} unfinished at the end",
            whole(outcome.ledger.answered),
            whole(outcome.ledger.errors.failed()),
            whole(outcome.ledger.errors.unfinished)
        ),
    ));
    rows.push(("client CPU", cost(report, Some(outcome.client_cpu_ns))));
    match &report.server {
        Ok(server) => rows.extend(server_rows(report, server)),
        Err(reason) => rows.push(("server CPU", format!("not known: {reason}"))),
    }
    rows.push(("whole machine", whole_machine(report)));
    let lines = rows
        .iter()
        .map(|(name, value)| format!("  {name:<14}{value}"));
    lines.collect::<Vec<_>>().join("\n")
}

fn first(report: &LoadDownloadReport) -> String {
    let length = match report.first.body_bytes {
        Some(bytes) => format!("body of {} bytes", numbers::whole(bytes as f64)),
        None => "body of a length that its end tells".to_owned(),
    };
    format!("status {}, {length}", report.first.status)
}

fn scored(report: &LoadDownloadReport) -> String {
    format!(
        "{} after {} of settling, {} on {} thread{}",
        numbers::duration(report.outcome.window_ns),
        numbers::duration(report.plan.settle_ns),
        connections(report),
        report.plan.threads,
        if report.plan.threads == 1 { "" } else { "s" },
    )
}

fn whole_machine(report: &LoadDownloadReport) -> String {
    let is_some = report.outcome.received_bytes > 0;
    let Some(spent) = report.machine.filter(|_| is_some) else {
        return "not known".to_owned();
    };
    let shown = |ns| {
        let seconds = report.per_gigabyte(ns);
        seconds.map_or_else(String::new, |seconds| format!("{seconds:.3}"))
    };
    whole_machine::words(&spent, shown, "CPU-s per GB")
}

fn cost(report: &LoadDownloadReport, cpu_ns: Option<u64>) -> String {
    match cpu_ns.and_then(|cpu_ns| report.per_gigabyte(cpu_ns)) {
        Some(seconds) => format!("{seconds:.3} CPU-s per GB"),
        None => "not known".to_owned(),
    }
}

fn server_rows(report: &LoadDownloadReport, server: &ServerSpent) -> Vec<(&'static str, String)> {
    let sending = match &server.sending {
        Some(sending) => limits::held_back(sending, report.seconds()),
        None => "not known: the kernel does not tell".to_owned(),
    };
    vec![
        ("server CPU", cost(report, server.cpu_ns)),
        ("its sending", sending),
    ]
}
