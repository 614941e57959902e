//! A sweep as one JSON value of a stable shape.

use judge::sweep::{Knee, Peak, UslFit};
use model::Estimate;
use model::judgement::QuantileEstimate;
use serde_json::{Value, json};

use super::{Axis, Block, LevelFigures, Report};
use crate::commands::whole_machine;
use crate::commands::worded::worded;

/// The version of this shape. Keys may be added under the same version; none is renamed, taken
/// away or given another meaning.
const FORMAT: u32 = 1;

/// The value, over several lines.
pub(super) fn render(report: &Report<'_>) -> String {
    format!("{:#}", value(report))
}

fn value(report: &Report<'_>) -> Value {
    let case = report.case;
    let plan = &case.plan;
    let open = report.sweep.axis == Axis::Rate;
    json!({
        "format": FORMAT,
        "linerate_version": env!("CARGO_PKG_VERSION"),
        "target": case.target.shown,
        "address": plan.address.to_string(),
        "sweep": report.sweep.shown(),
        "axis": match report.sweep.axis {
            Axis::Connections => "connections",
            Axis::Rate => "rate",
        },
        "http": crate::commands::load::version(plan),
        "streams": plan.streams(),
        "connections": open.then_some(plan.connections),
        "arrivals": open.then(|| case.arguments.arrivals_shown()),
        "threads": plan.threads,
        "rounds": case.arguments.rounds,
        "seed": case.arguments.seed(),
        "settle_seconds": seconds(plan.settle_ns),
        "block_seconds": seconds(plan.score_ns),
        "is_over": report.is_over,
        "levels": report.levels.iter().map(level).collect::<Vec<_>>(),
        "knee": knee(report.knee),
        "usl": report.law.as_ref().map(law),
        "blocks": report.blocks.iter().map(block).collect::<Vec<_>>(),
        "doubts": worded(&report.doubts),
        "notes": report.notes,
    })
}

fn level(level: &LevelFigures) -> Value {
    let per_request_us =
        |ns: u64| (level.answered > 0).then(|| ns as f64 / 1e3 / level.answered as f64);
    json!({
        "load": level.load,
        "throughput_rps": level.throughput_rps.map(estimate),
        "latency_us_p50": level.p50.map(quantile),
        "latency_us_p99": level.p99.map(quantile),
        "server_cpu_us_per_request": level.server_cpu_us.map(estimate),
        "client_cpu_us_per_request": level.client_cpu_us.map(estimate),
        "machine_cpu_us_per_request": level.machine_cpu_us.map(estimate),
        "machine_us_per_request": whole_machine::json(level.machine, per_request_us),
        "client_is_limit": level.client_is_limit,
    })
}

fn knee(knee: Knee) -> Value {
    let said = |where_it_is: &str, load: Option<[f64; 3]>| {
        json!({
            "is": where_it_is,
            "load": load.map(|[load, _, _]| load),
            "low": load.map(|[_, low, _]| low),
            "high": load.map(|[_, _, high]| high),
        })
    };
    match knee {
        Knee::At { load, low, high } => said("within", Some([load, low, high])),
        Knee::Above => said("above", None),
        Knee::Below => said("below", None),
        Knee::NotSeen => said("not_seen", None),
    }
}

fn law(fit: &UslFit) -> Value {
    let (is, at) = match fit.peak {
        Peak::At(at) => ("within", Some(at)),
        Peak::NotSeen => ("not_seen", None),
        Peak::OutsideLevels => ("outside", None),
    };
    json!({
        "lambda_rps": estimate(fit.lambda_rps),
        "sigma": estimate(fit.sigma),
        "kappa": estimate(fit.kappa),
        "peak": is,
        "peak_connections": at.map(estimate),
        "worst_miss_share": fit.worst_miss_share,
    })
}

fn block(block: &Block) -> Value {
    json!({
        "round": block.round,
        "load": block.load,
        "throughput_rps": block.throughput_rps,
        "server_cpu_us_per_request": block.server_cpu_us,
        "client_cpu_us_per_request": block.client_cpu_us,
        "client_is_limit": block.client_is_limit,
        "failed_share": block.failed_share,
    })
}

fn estimate(of: Estimate) -> Value {
    json!({ "value": of.value, "low": of.low, "high": of.high, "rounds": of.n })
}

fn quantile(of: QuantileEstimate) -> Value {
    let micros = |ns: u64| ns as f64 / 1e3;
    json!({ "value": micros(of.value_ns), "low": micros(of.low_ns), "high": micros(of.high_ns) })
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
