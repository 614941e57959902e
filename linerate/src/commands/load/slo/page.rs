//! What a person sees of a search: the answer, how it was found, the rates that decided.

use judge::capacity::{Agreed, Tally};
use model::Histogram;
use model::objective::{Figure, Term};
use report::numbers;

use super::{Report, fails_at_the_lowest};
use crate::commands::load::page::doubts;

/// The whole page.
pub(super) fn render(report: &Report<'_>) -> String {
    let parts = [
        Some(answer(report)),
        Some(table(report)),
        decisive(report),
        doubts(&report.doubts, &report.notes),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n")
}

/// The answer in a sentence or two.
fn answer(report: &Report<'_>) -> String {
    let found = &report.found;
    match (found.holds, found.fails) {
        (Some(holds), Some(fails)) if fails.agreed() == Some(Agreed::Fails) => format!(
            "Holds at {} requests/s, fails at {} ({}; {} held, {} failed).",
            rate(&holds),
            rate(&fails),
            report.objective,
            of_blocks(holds.held, &holds),
            of_blocks(fails.failed, &fails).replace(" blocks", "")
        ),
        (Some(holds), Some(fails)) => format!(
            "{} {} could not be offered: there the client or its connections were the limit, in {}.",
            holding(&holds, report),
            rate(&fails),
            of_blocks(fails.not_offered, &fails)
        ),
        (Some(holds), None) => format!("{} {}", holding(&holds, report), nothing_above(report)),
        (None, Some(fails)) => failing(&fails, report),
        (None, None) => format!("Nothing is confirmed. {}", likely(report)),
    }
}

fn holding(holds: &Tally, report: &Report<'_>) -> String {
    format!(
        "Holds at {} requests/s ({}; {}).",
        rate(holds),
        report.objective,
        of_blocks(holds.held, holds)
    )
}

fn nothing_above(report: &Report<'_>) -> String {
    if report.found.is_over && report.found.undecided.is_empty() {
        return "No higher rate was tried: closed loop carries half of it.".to_owned();
    }
    format!("Where it fails is not confirmed. {}", likely(report))
}

fn failing(fails: &Tally, report: &Report<'_>) -> String {
    let objective = report.objective;
    let at = rate(fails);
    if fails.agreed() == Some(Agreed::NotOffered) {
        return format!(
            "Not even {at} requests/s could be offered ({objective}; {}): the client or its \
             connections were the limit.",
            of_blocks(fails.not_offered, fails)
        );
    }
    let of = of_blocks(fails.failed, fails);
    if fails_at_the_lowest(report) {
        return format!(
            "Fails even at {at} requests/s, the lowest rate that a block of {} can judge \
             ({objective}; {of}).",
            numbers::duration(report.case.plan.score_ns)
        );
    }
    format!("Fails at {at} requests/s ({objective}; {of}); no rate below is confirmed to hold.")
}

fn likely(report: &Report<'_>) -> String {
    let [low, high] = report.found.likely_rps.map(numbers::rate);
    format!("The limit seems to lie between {low} and {high} requests/s.")
}

fn rate(tally: &Tally) -> String {
    numbers::rate(tally.rate_rps)
}

fn of_blocks(count: u32, tally: &Tally) -> String {
    format!("{count} of {} blocks", tally.blocks())
}

fn table(report: &Report<'_>) -> String {
    let (case, look) = (report.case, &report.look);
    let plan = &case.plan;
    let rows = [
        (
            "target",
            format!("{} ({})", case.target.shown, plan.address),
        ),
        (
            "load",
            format!(
                "open loop, {} arrivals, {} on {} thread{}",
                case.arguments.arrivals_shown(),
                crate::commands::load::connections(plan),
                plan.threads,
                if plan.threads == 1 { "" } else { "s" }
            ),
        ),
        (
            "closed loop",
            format!("{} requests/s", numbers::rate(look.closed_loop_rps)),
        ),
        (
            "search",
            format!(
                "{} blocks of {} after {} of settling, from {} to {} requests/s",
                report.found.blocks,
                numbers::duration(plan.score_ns),
                numbers::duration(plan.settle_ns),
                numbers::rate(report.lowest_rps),
                numbers::rate(report.highest_rps)
            ),
        ),
    ];
    let lines = rows
        .iter()
        .map(|(name, value)| format!("  {name:<14}{value}"));
    lines.collect::<Vec<_>>().join("\n")
}

/// The rates that were confirmed or given up, with the figures of all their blocks.
fn decisive(report: &Report<'_>) -> Option<String> {
    let found = &report.found;
    let mut tallies: Vec<Tally> = found.undecided.clone();
    tallies.extend(found.holds.into_iter().chain(found.fails));
    tallies.sort_by(|one, other| one.rate_rps.total_cmp(&other.rate_rps));
    let lines = tallies.iter().map(|tally| line(tally, report));
    let lines = lines.collect::<Vec<_>>().join("\n");
    let head = format!(
        "  {:>14}{:>7}{:>8}{:>13}   over all blocks",
        "requests/s", "held", "failed", "not offered"
    );
    (!tallies.is_empty()).then(|| format!("{head}\n{lines}"))
}

fn line(tally: &Tally, report: &Report<'_>) -> String {
    format!(
        "  {:>14}{:>7}{:>8}{:>13}   {}",
        rate(tally),
        tally.held,
        tally.failed,
        tally.not_offered,
        figures(tally, report).join(", ")
    )
}

/// Each figure of the objective, over all blocks of a confirmation at this rate.
fn figures(tally: &Tally, report: &Report<'_>) -> Vec<String> {
    let mut response = Histogram::default();
    let (mut failed, mut blocks) = (0.0, 0.0);
    for block in report.confirming(tally.rate_rps) {
        response.merge(&block.response);
        failed += block.failed_share;
        blocks += 1.0;
    }
    let terms = report.objective.terms().iter();
    terms
        .map(|term| match term {
            Term::Response { figure, .. } => {
                let time_ns = response_ns(&response, *figure);
                let shown = time_ns.map_or_else(|| numbers::MISSING.to_owned(), numbers::duration);
                format!("{figure} {shown}")
            }
            Term::Errors { .. } => {
                format!("errors {}", numbers::share(failed / f64::max(blocks, 1.0)))
            }
        })
        .collect()
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a mean of at most 69 s in ns"
)]
fn response_ns(response: &Histogram, figure: Figure) -> Option<u64> {
    match figure {
        Figure::Quantile { percent } => response.quantile(percent / 100.0),
        Figure::Max => response.quantile(1.0),
        Figure::Mean => response.mean().map(|mean| mean.round() as u64),
    }
}
