//! What a person sees of a sweep: the answer, the levels, knee and law, the doubts.

use judge::sweep::{FEWEST_LEVELS, Knee, Peak, UslFit};
use model::Estimate;
use model::judgement::QuantileEstimate;
use report::numbers;

use super::{Axis, LevelFigures, Report};
use crate::commands::load::page::doubts;

/// A law that misses a level by more than this is a rough likeness.
const ROUGH_MISS_SHARE: f64 = 0.15;

/// The whole page.
pub(super) fn render(report: &Report<'_>) -> String {
    let parts = [
        Some(answer(report)),
        Some(head(report)),
        Some(table(report)),
        law(report),
        doubts(&report.doubts, &report.notes),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n")
}

fn answer(report: &Report<'_>) -> String {
    format!("{} {}", most(report), knee(report))
}

/// The level with the most throughput.
fn most(report: &Report<'_>) -> String {
    let known = report
        .levels
        .iter()
        .filter_map(|level| Some((level, level.throughput_rps?)));
    let most = known.max_by(|(_, one), (_, other)| one.value.total_cmp(&other.value));
    let Some((level, throughput)) = most else {
        return format!("No request to {} was answered.", report.case.target.shown);
    };
    let limit = if level.client_is_limit {
        "; there the client was the limit, and the target may carry more"
    } else {
        ""
    };
    format!(
        "At most {} requests/s ({}), at {} {}{limit}.",
        numbers::rate(throughput.value),
        numbers::interval(&throughput, numbers::rate),
        numbers::rate(level.load),
        offered(report.sweep.axis, level.load)
    )
}

fn knee(report: &Report<'_>) -> String {
    let none = "No knee within the range:";
    match report.knee {
        Knee::At { load, low, high } => format!(
            "The knee is at {} {} ({} … {}): more load costs more in waiting than it brings.",
            numbers::rate(load),
            offered(report.sweep.axis, load),
            numbers::rate(low),
            numbers::rate(high)
        ),
        Knee::Above => format!("{none} throughput over time to an answer may rise beyond it."),
        Knee::Below => format!("{none} throughput over time to an answer may fall from its start."),
        Knee::NotSeen => format!("{none} the levels do not carry one."),
    }
}

fn offered(axis: Axis, load: f64) -> &'static str {
    match axis {
        Axis::Connections if load.total_cmp(&1.0).is_eq() => "connection",
        Axis::Connections => "connections",
        Axis::Rate => "requests/s offered",
    }
}

fn head(report: &Report<'_>) -> String {
    let plan = &report.case.plan;
    let rounds = report.blocks.iter().map(|block| block.round).max();
    let open = match report.sweep.axis {
        Axis::Connections => {
            let at_once = crate::commands::load::at_once(plan);
            at_once.map_or_else(String::new, |(protocol, each)| {
                format!("  load          {protocol}, {each} on each connection\n")
            })
        }
        Axis::Rate => format!(
            "  load          {} arrivals over {}\n",
            report.case.arguments.arrivals_shown(),
            crate::commands::load::connections(plan)
        ),
    };
    format!(
        "  target        {} ({})\n  sweep         {}, {} levels in {} rounds of random order\n{open}  \
         block         {} after {} of settling",
        report.case.target.shown,
        plan.address,
        report.sweep.shown(),
        report.levels.len(),
        rounds.unwrap_or(0),
        numbers::duration(plan.score_ns),
        numbers::duration(plan.settle_ns)
    )
}

fn table(report: &Report<'_>) -> String {
    let time = match report.sweep.axis {
        Axis::Connections => "service",
        Axis::Rate => "response",
    };
    let head = format!(
        "  {:>12}{:>28}{:>14}{:>14}{:>22}{:>22}{:>22}",
        match report.sweep.axis {
            Axis::Connections => "connections",
            Axis::Rate => "offered/s",
        },
        "requests/s",
        format!("{time} p50"),
        "p99",
        "server CPU µs/req",
        "client CPU µs/req",
        "whole machine µs/req"
    );
    let lines = report.levels.iter().map(line);
    std::iter::once(head)
        .chain(lines)
        .collect::<Vec<_>>()
        .join("\n")
}

fn line(level: &LevelFigures) -> String {
    format!(
        "  {:>12}{:>28}{:>14}{:>14}{:>22}{:>22}{:>22}{}",
        numbers::rate(level.load),
        with_interval(level.throughput_rps, numbers::rate),
        quantile(level.p50),
        quantile(level.p99),
        with_interval(level.server_cpu_us, numbers::micros),
        with_interval(level.client_cpu_us, numbers::micros),
        with_interval(level.machine_cpu_us, numbers::micros),
        if level.client_is_limit {
            "  client"
        } else {
            ""
        }
    )
}

fn with_interval(found: Option<Estimate>, shown: impl Fn(f64) -> String) -> String {
    found.map_or_else(
        || numbers::MISSING.to_owned(),
        |of| format!("{} ({})", shown(of.value), numbers::interval(&of, &shown)),
    )
}

fn quantile(found: Option<QuantileEstimate>) -> String {
    found.map_or_else(
        || numbers::MISSING.to_owned(),
        |of| numbers::duration(of.value_ns),
    )
}

/// The Universal Scalability Law, or why it is not fitted.
fn law(report: &Report<'_>) -> Option<String> {
    if report.sweep.axis == Axis::Rate {
        return None;
    }
    let Some(fit) = &report.law else {
        return Some(format!(
            "  law           not fitted: it takes two complete rounds of {FEWEST_LEVELS} levels \
             that answer and at which the client is not the limit"
        ));
    };
    let exact = |value: f64| format!("{value:.2e}");
    Some(format!(
        "  Universal Scalability Law, intervals at 95 %\n  \
         λ  one alone  {} requests/s\n  σ  contention {}\n  κ  coherency  {}\n  peak          {}{}",
        with_interval(Some(fit.lambda_rps), numbers::rate),
        with_interval(Some(fit.sigma), |value| format!("{value:.4}")),
        with_interval(Some(fit.kappa), exact),
        peak(fit, report),
        rough(fit)
    ))
}

fn peak(fit: &UslFit, report: &Report<'_>) -> String {
    let judged = report.levels.iter().filter(|level| level.is_judged());
    let most = judged.map(|level| level.load).fold(0.0, f64::max);
    let most = numbers::rate(most);
    match fit.peak {
        Peak::At(at) => format!("at {} connections", with_interval(Some(at), numbers::rate)),
        Peak::NotSeen => format!("none that these levels tell of, up to {most} connections"),
        Peak::OutsideLevels => "perhaps outside the levels that the law has".to_owned(),
    }
}

fn rough(fit: &UslFit) -> String {
    if fit.worst_miss_share <= ROUGH_MISS_SHARE {
        return String::new();
    }
    format!(
        "\n  the law misses a level by {}: take it for a rough likeness",
        numbers::share(fit.worst_miss_share)
    )
}
