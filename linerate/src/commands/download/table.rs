//! What a person sees of a download between two programs: the rate, who had no more to give, and
//! what it cost each.

use agent::download::Side;
use report::numbers;

use super::crossings::{Crossing, FilePath};
use super::{Report, limits};
use crate::commands::whole_machine;

pub(super) fn render(report: &Report) -> String {
    let mut parts = vec![answer(report), table(report)];
    for doubt in report.doubts() {
        parts.push(format!("  doubt: {}; {}", doubt.what(), doubt.advice()));
    }
    parts.join("\n\n")
}

/// The answer in one sentence.
fn answer(report: &Report) -> String {
    let went = &report.went;
    let share = |side: &Side| numbers::share(side.busy_share);
    format!(
        "{:.2} Gbit/s over {}; the client was busy {} of the time, the server {}: {}.",
        report.gbit_per_second(),
        connections(report),
        share(&went.client),
        share(&went.server),
        limits::words(&report.full_sides())
    )
}

fn connections(report: &Report) -> String {
    match report.order.connections {
        1 => "1 connection".to_owned(),
        more => format!("{} connections", numbers::whole(f64::from(more))),
    }
}

fn table(report: &Report) -> String {
    let went = &report.went;
    let bytes = |count: u64| numbers::whole(count as f64);
    let mut rows = vec![
        (
            "file",
            format!("{} bytes, over and over", bytes(went.file_bytes)),
        ),
        (
            "server",
            format!("{}, {}", server(report), on(&went.server)),
        ),
        (
            "client",
            format!("{}, {}", client(report), on(&went.client)),
        ),
    ];
    if let Some(agreed) = &went.tls {
        rows.push(("tls", format!("TLS {}, {}", agreed.version, agreed.cipher)));
    }
    rows.push(("scored", scored(report)));
    rows.push(("server CPU", cost(report, &went.server)));
    rows.push(("client CPU", cost(report, &went.client)));
    rows.push(("machine", whole_machine(report)));
    rows.push((
        "efficiency",
        format!(
            "{:.3} Gbit/s per % of the server's CPU time",
            report.gbit_per_cpu_percent()
        ),
    ));
    rows.push((
        "sending",
        limits::held_back(&went.sending, report.seconds()),
    ));
    if let Some(account) = report.zero_copy() {
        rows.push(("zero-copy", account.to_string()));
    }
    if let Some(path) = report.path {
        rows.push(("memory", ledger(path)));
    }
    let lines = rows
        .iter()
        .map(|(name, value)| format!("  {name:<14}{value}"));
    lines.collect::<Vec<_>>().join("\n")
}

fn server(report: &Report) -> String {
    let title = &report.went.server_title;
    let version = report.went.server_version.as_ref();
    version.map_or_else(|| title.clone(), |version| format!("{title} {version}"))
}

fn client(report: &Report) -> &str {
    report
        .client
        .as_deref()
        .unwrap_or("linerate load --download")
}

fn on(side: &Side) -> String {
    let list = sys::cpu::format_list(&side.cpus);
    match side.cpus.len() {
        1 => format!("CPU {list}"),
        _ => format!("CPUs {list}"),
    }
}

fn scored(report: &Report) -> String {
    let acknowledged = report.went.sending.acked_bytes as f64 / 1e9;
    format!(
        "{acknowledged:.3} GB in {} after {:.1} s of settling",
        numbers::duration(report.went.window_ns),
        report.order.settle.as_secs_f64()
    )
}

/// A line for the sum and one for each step of it.
fn ledger(path: FilePath) -> String {
    let sum = path.crossings();
    let name = path.name();
    let plural = if sum == 1 { "" } else { "s" };
    let mut lines = vec![format!(
        "{sum} crossing{plural} per byte, computed from the path ({name}):"
    )];
    let step = |step: &Crossing| format!("{:16}{} {}", "", step.crossings, step.what);
    lines.extend(path.steps().iter().map(step));
    lines.join("\n")
}

fn whole_machine(report: &Report) -> String {
    let shown = |ns| format!("{:.3}", report.went.seconds_per_gb(ns));
    let spent = report.went.machine;
    spent.map_or_else(
        || "not known".to_owned(),
        |spent| whole_machine::words(&spent, shown, "CPU-s per GB"),
    )
}

fn cost(report: &Report, side: &Side) -> String {
    format!("{:.3} CPU-s per GB", report.went.cpu_seconds_per_gb(side))
}
