//! A search for a capacity as one JSON value of a stable shape.

use judge::capacity::{Agreed, Seen, TRUST, Tally};
use serde_json::{Value, json};

use super::{Block, Report};
use crate::commands::quantiles::carried;
use crate::commands::worded::worded;

/// The version of this shape. Keys may be added under the same version; none is renamed, taken
/// away or given another meaning.
const FORMAT: u32 = 1;

/// The value, over several lines.
pub(super) fn render(report: &Report<'_>) -> String {
    format!("{:#}", value(report))
}

fn value(report: &Report<'_>) -> Value {
    let (case, found) = (report.case, &report.found);
    let plan = &case.plan;
    let [likely_low_rps, likely_high_rps] = found.likely_rps;
    json!({
        "format": FORMAT,
        "linerate_version": env!("CARGO_PKG_VERSION"),
        "target": case.target.shown,
        "address": plan.address.to_string(),
        "objective": report.objective.to_string(),
        "http": crate::commands::load::version(plan),
        "connections": plan.connections,
        "streams": plan.streams(),
        "threads": plan.threads,
        "arrivals": case.arguments.arrivals_shown(),
        "seed": case.arguments.seed(),
        "settle_seconds": seconds(plan.settle_ns),
        "block_seconds": seconds(plan.score_ns),
        "closed_loop_rps": report.look.closed_loop_rps,
        "closed_loop_rps_at_four_times_the_connections": report.look.more_connections_rps,
        "lowest_rps": report.lowest_rps,
        "highest_rps": report.highest_rps,
        "is_over": found.is_over,
        "holds": found.holds.as_ref().map(tally),
        "fails": found.fails.as_ref().map(tally),
        "undecided": found.undecided.iter().map(tally).collect::<Vec<_>>(),
        "likely_rps": { "low": likely_low_rps, "high": likely_high_rps },
        "hysteresis": found.hysteresis.map(|of| json!({
            "going_up_rps": of.going_up_rps,
            "coming_down_rps": of.coming_down_rps,
        })),
        "blocks": report.blocks.iter().map(block).collect::<Vec<_>>(),
        "doubts": worded(&report.doubts),
        "notes": report.notes,
    })
}

fn tally(tally: &Tally) -> Value {
    let agreed = tally.agreed().map(|agreed| match agreed {
        Agreed::Holds => "holds",
        Agreed::Fails => "fails",
        Agreed::NotOffered => "not_offered",
    });
    json!({
        "rate_rps": tally.rate_rps,
        "agreed": agreed,
        "blocks": tally.blocks(),
        "held": tally.held,
        "failed": tally.failed,
        "not_offered": tally.not_offered,
    })
}

fn block(block: &Block) -> Value {
    let micros = |quantile| carried(&block.response, quantile).map(|ns| ns as f64 / 1e3);
    json!({
        "rate_rps": block.rate_rps,
        "purpose": block.purpose,
        "seen": match block.seen {
            Seen::Holds => "holds",
            Seen::Fails => "fails",
            Seen::NotOffered => "not_offered",
        },
        "is_trusted": block.trust >= TRUST,
        "throughput_rps": block.throughput_rps,
        "response_us_p50": micros(0.5),
        "response_us_p99": micros(0.99),
        "failed_share": block.failed_share,
        "client_occupied_share": block.occupied_share,
    })
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
