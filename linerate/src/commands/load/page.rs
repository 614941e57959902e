//! What a person sees of a load: the answer, the table, the failures, the doubts.

use model::reading::{Errors, LatencyReading};
use model::{Doubt, Pace};
use report::numbers;
use traffic::load::LoadPlan;
use traffic::tls::Agreed;

use super::{Report, counted, distributions, mix};
use crate::commands::whole_machine;

/// The whole page; `in_full` with a line for each quantile of the latency.
pub(super) fn render(report: &Report<'_>, in_full: bool) -> String {
    let mut parts = vec![answer(report), table(report)];
    parts.extend(kinds(report));
    parts.extend(distributions::render(report, in_full));
    parts.extend(failures(&report.outcome.ledger.errors, report.plan));
    parts.extend(doubts(&report.outcome.doubts, &report.notes));
    parts.join("\n\n")
}

/// With the reason, where the target refuses what it is asked.
fn nothing_answered(report: &Report<'_>) -> String {
    let shown = &report.target.shown;
    match report.target.look.first.status {
        status @ 400.. => format!(
            "No request to {shown} was answered: the target says {status}, which counts as a failure."
        ),
        _ => format!("No request to {shown} was answered."),
    }
}

/// The answer in one sentence.
fn answer(report: &Report<'_>) -> String {
    let outcome = report.outcome;
    let Some(cpu_us) = outcome.client_cpu_us_per_request() else {
        return nothing_answered(report);
    };
    let busy = numbers::share(outcome.client_busy_share);
    let cpu = format!(
        "at a client CPU cost of {} per request; the client was at {busy}",
        numbers::micros_roughly(cpu_us)
    );
    let rate = numbers::whole(outcome.throughput_rps());
    let connections = super::connections(report.plan);
    let connections = match report.plan.requests {
        Some(_) => format!("{connections} for {}", numbers::duration(outcome.window_ns)),
        None => connections,
    };
    match report.plan.pace {
        Pace::Closed => format!("{rate} requests/s from {connections}, {cpu}."),
        Pace::Open { rate_rps, .. } => {
            let offered = numbers::whole(rate_rps);
            let waits = waits(outcome.latency.as_ref());
            format!("{rate} of {offered} requests/s were answered{waits}, {cpu}.")
        }
    }
}

fn waits(latency: Option<&LatencyReading>) -> String {
    let quantile = |quantile| latency?.response.carried(quantile).map(numbers::duration);
    match (quantile(0.5), quantile(0.99)) {
        (Some(half), Some(most)) => {
            format!(", half of them within {half} and 99 % within {most} of when they were due")
        }
        (Some(half), None) => format!(", half of them within {half} of when they were due"),
        _ => String::new(),
    }
}

fn table(report: &Report<'_>) -> String {
    let (outcome, plan) = (report.outcome, report.plan);
    let reopened = match outcome.connections.reopened {
        0 => String::new(),
        count => format!(", reopened {} times", numbers::whole(count as f64)),
    };
    let refused = match outcome.connections.failed {
        0 => String::new(),
        count => format!(", {} attempts failed", numbers::whole(count as f64)),
    };
    let mut rows = vec![
        (
            "target",
            format!("{} ({})", report.target.shown, report.target.address),
        ),
        ("first answer", first_answer(report)),
        (
            "load",
            format!(
                "{}, {} on {} thread{} by {}{reopened}{refused}",
                pace(&plan.pace),
                super::connections(plan),
                plan.threads,
                if plan.threads == 1 { "" } else { "s" },
                report.engine(),
            ),
        ),
        ("scored", counted::window(plan, outcome)),
        (
            "throughput",
            format!("{} requests/s", numbers::whole(outcome.throughput_rps())),
        ),
        ("client CPU", client_cpu(report)),
        ("whole machine", whole_machine(report)),
        ("transfer", transfer(report)),
        ("requests", requests(report)),
    ];
    if let Some(agreed) = &report.target.look.first.tls {
        rows.insert(2, ("tls", tls(agreed, report)));
    }
    let lines = rows
        .iter()
        .map(|(name, value)| format!("  {name:<14}{value}"));
    lines.collect::<Vec<_>>().join("\n")
}

/// What became of each kind of request, where there are several.
fn kinds(report: &Report<'_>) -> Option<String> {
    let mixed = report.mixed?;
    Some(mix::page(mixed, &report.outcome.kinds))
}

fn first_answer(report: &Report<'_>) -> String {
    let first = &report.target.look.first;
    format!(
        "status {}, {} bytes, body {}",
        first.status, first.response_bytes, first.body.bytes
    )
}

/// What was agreed on, and the handshakes of the whole load.
fn tls(agreed: &Agreed, report: &Report<'_>) -> String {
    let Some(handshakes) = &report.outcome.handshakes else {
        return format!("TLS {}, {}", agreed.version, agreed.cipher);
    };
    let half = handshakes.times.quantile(0.5);
    let half = half.map_or_else(String::new, |half_ns| {
        format!(", half of them within {}", numbers::duration(half_ns))
    });
    format!(
        "TLS {}, {}, {} handshakes, {} resumed{half}",
        agreed.version,
        agreed.cipher,
        numbers::whole(handshakes.times.total() as f64),
        numbers::whole(handshakes.resumed as f64),
    )
}

fn pace(pace: &Pace) -> String {
    match pace {
        Pace::Closed => "closed loop".to_owned(),
        Pace::Open {
            rate_rps, arrivals, ..
        } => {
            let arrivals = format!("{arrivals:?}").to_lowercase();
            format!(
                "open loop, {} requests/s, {arrivals} arrivals",
                numbers::whole(*rate_rps)
            )
        }
    }
}

fn client_cpu(report: &Report<'_>) -> String {
    let cpu_us = report.outcome.client_cpu_us_per_request();
    cpu_us.map_or_else(unknown, |cpu_us| {
        format!("{} µs per request", numbers::micros(cpu_us))
    })
}

/// What stands beside it, as this machine counts it.
fn whole_machine(report: &Report<'_>) -> String {
    let Some(spent) = report.machine.filter(|_| report.outcome.answered > 0) else {
        return unknown();
    };
    let shown = |ns| {
        report
            .per_request_us(ns)
            .map_or_else(unknown, numbers::micros)
    };
    whole_machine::words(&spent, shown, "µs per request")
}

fn unknown() -> String {
    "not known".to_owned()
}

/// Decimal units: 1 MB/s is 1,000,000 bytes a second.
fn transfer(report: &Report<'_>) -> String {
    let bytes_per_second = report.outcome.received_bytes_per_second();
    format!(
        "{:.2} MB/s received ({} Mbit/s)",
        bytes_per_second / 1e6,
        numbers::rate(bytes_per_second * 8.0 / 1e6)
    )
}

fn requests(report: &Report<'_>) -> String {
    let ledger = report.outcome.ledger;
    format!(
        "{} sent, {} answered, {} failed, {} unfinished at the end",
        numbers::whole(ledger.sent as f64),
        numbers::whole(ledger.answered as f64),
        numbers::whole(ledger.errors.failed() as f64),
        numbers::whole(ledger.errors.unfinished as f64),
    )
}

/// Each bin that is not empty, and what it means in this load.
pub(super) fn failures(errors: &Errors, plan: &LoadPlan) -> Option<String> {
    if errors.failed() == 0 {
        return None;
    }
    let lines = bins(errors, plan.bulk)
        .into_iter()
        .filter(|(_, count, _)| *count > 0)
        .map(|(name, count, meaning)| {
            format!(
                "  {name:<14}{:>11}  {meaning}",
                numbers::whole(count as f64)
            )
        });
    Some(format!(
        "  failed requests\n{}",
        lines.collect::<Vec<_>>().join("\n")
    ))
}

fn bins(errors: &Errors, is_download: bool) -> [(&'static str, u64, &'static str); 5] {
    let (body, timeout) = if is_download {
        ("another length than --length", "nothing came for --timeout")
    } else {
        (
            "another body than the first (one in 64 is compared)",
            "no whole answer within --timeout",
        )
    };
    [
        (
            "status",
            errors.status,
            "a whole answer with a status of 400 or above",
        ),
        (
            "malformed",
            errors.malformed,
            "no HTTP answer, or a length that does not hold",
        ),
        ("body", errors.body, body),
        (
            "closed",
            errors.closed,
            "closed or reset before the answer was whole",
        ),
        ("timeout", errors.timeout, timeout),
    ]
}

/// A line for each of them.
pub(super) fn doubts(doubts: &[Doubt], notes: &[String]) -> Option<String> {
    let lines = doubts
        .iter()
        .map(|doubt| format!("  doubt: {}; {}", doubt.what(), doubt.advice()))
        .chain(notes.iter().map(|note| format!("  note: {note}")))
        .collect::<Vec<_>>();
    (!lines.is_empty()).then(|| lines.join("\n"))
}
