//! What a person sees of a load: the answer, the table, the failures, the doubts.

use model::reading::{Errors, LatencyReading};
use model::{Histogram, Pace};
use report::numbers;

use super::Report;

/// The quantiles shown, where the data carry them.
pub(super) const QUANTILES: [f64; 7] = [0.5, 0.75, 0.9, 0.99, 0.999, 0.9999, 0.99999];
/// A quantile is shown when so many observations lie beyond it.
const BEYOND: f64 = 10.0;

/// The quantile in ns; `None` where fewer than ten observations lie beyond it.
pub(super) fn carried(histogram: &Histogram, quantile: f64) -> Option<u64> {
    let beyond = histogram.total() as f64 * (1.0 - quantile);
    // The small sum is for 1 − 0.99, which is a little less than it should be.
    (beyond + 1e-6 >= BEYOND).then(|| histogram.quantile(quantile))?
}

/// The whole page.
pub(super) fn render(report: &Report<'_>) -> String {
    let mut parts = vec![answer(report), table(report)];
    parts.extend(latency(report));
    parts.extend(failures(report));
    parts.extend(doubts(report));
    parts.join("\n\n")
}

/// The answer in one sentence.
fn answer(report: &Report<'_>) -> String {
    let outcome = report.outcome;
    let Some(cpu_us) = outcome.client_cpu_us_per_request() else {
        return format!("No request to {} was answered.", report.target.shown);
    };
    let busy = numbers::share(outcome.client_busy_share);
    let cpu = format!(
        "at a client CPU cost of {} per request; the client was at {busy}",
        numbers::micros_roughly(cpu_us)
    );
    let rate = numbers::whole(outcome.throughput_rps());
    let connections = numbers::whole(f64::from(report.plan.connections));
    match report.plan.pace {
        Pace::Closed => format!("{rate} requests/s from {connections} connections, {cpu}."),
        Pace::Open { rate_rps, .. } => {
            let offered = numbers::whole(rate_rps);
            let waits = waits(outcome.latency.as_ref());
            format!("{rate} of {offered} requests/s were answered{waits}, {cpu}.")
        }
    }
}

fn waits(latency: Option<&LatencyReading>) -> String {
    let quantile = |quantile| carried(&latency?.response, quantile).map(numbers::duration);
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
    let rows = [
        (
            "target",
            format!("{} ({})", report.target.shown, report.target.address),
        ),
        ("first answer", first_answer(report)),
        (
            "load",
            format!(
                "{}, {} connections on {} thread{} by {}{reopened}{refused}",
                pace(&plan.pace),
                numbers::whole(f64::from(plan.connections)),
                plan.threads,
                if plan.threads == 1 { "" } else { "s" },
                report.engine(),
            ),
        ),
        (
            "scored",
            format!(
                "{} after {} of settling",
                numbers::duration(outcome.window_ns),
                numbers::duration(plan.settle_ns)
            ),
        ),
        (
            "throughput",
            format!("{} requests/s", numbers::whole(outcome.throughput_rps())),
        ),
        ("requests", requests(report)),
    ];
    let lines = rows
        .iter()
        .map(|(name, value)| format!("  {name:<14}{value}"));
    lines.collect::<Vec<_>>().join("\n")
}

fn first_answer(report: &Report<'_>) -> String {
    let first = report.target.first;
    format!(
        "status {}, {} bytes, body {}",
        first.status, first.response_bytes, first.body.bytes
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

/// The table of quantiles.
fn latency(report: &Report<'_>) -> Option<String> {
    let latency = report.outcome.latency.as_ref()?;
    let (title, rows): (_, Vec<(&str, &Histogram)>) = match report.plan.pace {
        Pace::Closed => (
            "  latency, from send to last byte (leaves out the waiting that a slow server causes; \
             --rate counts it)",
            vec![("service", &latency.service)],
        ),
        Pace::Open { .. } => (
            "  latency: response = from when it was due, service = from when it was sent, \
             lateness = between the two",
            vec![
                ("response", &latency.response),
                ("service", &latency.service),
                ("lateness", &latency.lateness),
            ],
        ),
    };
    let carried_by_any = |quantile: &f64| {
        rows.iter()
            .any(|(_, row)| carried(row, *quantile).is_some())
    };
    let shown: Vec<f64> = QUANTILES.into_iter().filter(carried_by_any).collect();
    if shown.is_empty() {
        return None;
    }
    let cells = |name: &str, texts: Vec<String>| {
        let cells = texts.into_iter().map(|text| format!("{text:>11}"));
        format!("  {name:<14}{}", cells.collect::<String>())
    };
    let mut lines = vec![title.to_owned()];
    lines.push(cells(
        "",
        shown
            .iter()
            .map(|quantile| numbers::quantile(*quantile))
            .collect(),
    ));
    for (name, row) in rows {
        let text =
            |quantile: &f64| carried(row, *quantile).map_or_else(String::new, numbers::duration);
        lines.push(cells(name, shown.iter().map(text).collect()));
    }
    Some(lines.join("\n"))
}

/// Each bin that is not empty, and what it means.
fn failures(report: &Report<'_>) -> Option<String> {
    let errors = report.outcome.ledger.errors;
    if errors.failed() == 0 {
        return None;
    }
    let lines = bins(&errors)
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

fn bins(errors: &Errors) -> [(&'static str, u64, &'static str); 5] {
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
        (
            "body",
            errors.body,
            "another body than the first (one in 64 is compared)",
        ),
        (
            "closed",
            errors.closed,
            "closed or reset before the answer was whole",
        ),
        (
            "timeout",
            errors.timeout,
            "no whole answer within --timeout",
        ),
    ]
}

fn doubts(report: &Report<'_>) -> Option<String> {
    let doubts = report.outcome.doubts.iter();
    let lines = doubts
        .map(|doubt| format!("  doubt: {}; {}", doubt.what(), doubt.advice()))
        .chain(report.notes.iter().map(|note| format!("  note: {note}")))
        .collect::<Vec<_>>();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_needs_ten_observations_beyond_it() {
        let mut histogram = Histogram::default();
        (0..999).for_each(|_| histogram.record(5));
        assert_eq!(carried(&histogram, 0.99), None);
        histogram.record(5);
        assert_eq!(carried(&histogram, 0.99), Some(5));
        assert_eq!(carried(&histogram, 0.999), None);
    }
}
