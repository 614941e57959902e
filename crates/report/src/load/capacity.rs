//! The view of a search for a capacity: the answer, how it was found, the rates that decided.

use model::judgement::{Likely, LoadSlo, TallyShape};
use model::load_run::SavedLoad;
use model::objective::{Figure, Objective, Term};
use model::{BlockRecord, Histogram};

use super::{add_list, add_notes, connections, stopped};
use crate::view::{Page, Table};
use crate::{html, numbers, text};

/// Factor on the connections of a search, for a trial in closed loop beforehand.
const CONNECTIONS_FACTOR: u32 = 4;

/// A search and its blocks, which are in the same order as those of the judgement.
#[derive(Clone, Copy)]
pub struct Searched<'a> {
    pub run: &'a SavedLoad,
    pub objective: &'a Objective,
    pub offered: &'a [BlockRecord],
    pub found: &'a LoadSlo,
}

/// Adds notes to a search: whether the connections limit the target, whether it stays slow after
/// overload, and what stopped the search.
pub fn remarked(mut found: LoadSlo, binds: bool, stopped_by: Option<&str>) -> LoadSlo {
    let more_rps = found.closed_loop_rps_at_four_times_the_connections;
    let binds = more_rps.filter(|_| binds).map(|more_rps| {
        format!(
            "{} connections carried {} requests/s in closed loop and {} carried {}: with more of them (-c) \
             the target may hold more",
            found.connections,
            numbers::rate(found.closed_loop_rps),
            found.connections.saturating_mul(CONNECTIONS_FACTOR),
            numbers::rate(more_rps)
        )
    });
    let stays_slow = found.hysteresis.as_ref().map(|hysteresis| {
        format!(
            "{} requests/s held on the way up, and after the first failure nothing above {} did: the target \
             may stay slow once it has been overloaded",
            numbers::rate(hysteresis.going_up_rps),
            numbers::rate(hysteresis.coming_down_rps)
        )
    });
    let stopped = stopped(found.is_over, stopped_by, found.blocks.len());
    let notes = [binds, stays_slow, stopped];
    found.notes.extend(notes.into_iter().flatten());
    found
}

/// Whether even the lowest rate that a block can judge fails.
pub fn fails_at_the_lowest(found: &LoadSlo) -> bool {
    let is_lowest = |rate_rps: f64| rate_rps <= found.lowest_rps * (1.0 + 1e-9);
    let fails = found.fails.as_ref();
    let fails_there = fails.is_some_and(|of| is_lowest(of.rate_rps) && of.agreed == Some("fails"));
    found.holds.is_none() && fails_there
}

/// Renders a search for a terminal of `width` columns, with or without colour.
pub fn render(searched: Searched<'_>, width: usize, colour: bool) -> String {
    text::laid_out(view(searched), width, colour)
        .trim_end()
        .to_owned()
}

/// Renders a search for a browser.
pub fn page(searched: Searched<'_>) -> String {
    html::render_load(
        searched.run,
        "What is the highest rate that holds the objective?",
        "After a look in closed loop, a walk brackets the rate, a bisection that no single block can mislead \
         narrows it, and the answer is confirmed on both sides.",
        view(searched),
    )
}

fn view(searched: Searched<'_>) -> Page {
    let found = searched.found;
    let mut page = Page {
        answer: answer(found),
        doubts: found.doubts.iter().map(|it| it.doubt.clone()).collect(),
        ..Page::default()
    };
    page.section("rates", "The rates that decided");
    page.table(decisive(searched));
    add_list(&mut page, "Measured as follows", measured(found));
    add_notes(&mut page, &found.notes);
    page
}

/// The answer in a sentence or two.
fn answer(found: &LoadSlo) -> String {
    match (&found.holds, &found.fails) {
        (Some(holds), Some(fails)) if fails.agreed == Some("fails") => format!(
            "Holds at {} requests/s, fails at {} ({}; {} held, {} failed).",
            rate(holds),
            rate(fails),
            found.objective,
            of_blocks(holds.held, holds),
            of_blocks(fails.failed, fails).replace(" blocks", "")
        ),
        (Some(holds), Some(fails)) => format!(
            "{} {} could not be offered: there the client or its connections were the limit, in {}.",
            holding(holds, found),
            rate(fails),
            of_blocks(fails.not_offered, fails)
        ),
        (Some(holds), None) => format!("{} {}", holding(holds, found), nothing_above(found)),
        (None, Some(fails)) => failing(fails, found),
        (None, None) => format!("Nothing is confirmed. {}", likely(found)),
    }
}

fn holding(holds: &TallyShape, found: &LoadSlo) -> String {
    format!(
        "Holds at {} requests/s ({}; {}).",
        rate(holds),
        found.objective,
        of_blocks(holds.held, holds)
    )
}

fn nothing_above(found: &LoadSlo) -> String {
    if found.is_over && found.undecided.is_empty() {
        return "No higher rate was tried: this is about twice what closed loop carries."
            .to_owned();
    }
    format!("Where it fails is not confirmed. {}", likely(found))
}

fn failing(fails: &TallyShape, found: &LoadSlo) -> String {
    let objective = &found.objective;
    let at = rate(fails);
    if fails.agreed == Some("not_offered") {
        return format!(
            "Not even {at} requests/s could be offered ({objective}; {}): the client or its \
             connections were the limit.",
            of_blocks(fails.not_offered, fails)
        );
    }
    let of = of_blocks(fails.failed, fails);
    if fails_at_the_lowest(found) {
        return format!(
            "Fails even at {at} requests/s, the lowest rate that a block of {} can judge \
             ({objective}; {of}).",
            numbers::seconds(found.block_seconds)
        );
    }
    format!("Fails at {at} requests/s ({objective}; {of}); no rate below is confirmed to hold.")
}

fn likely(found: &LoadSlo) -> String {
    let holds = found.holds.as_ref();
    between(&found.likely_rps, holds.map_or(0.0, |of| of.rate_rps))
}

/// Says where the limit lies: never below what is confirmed to hold, wherever the bisection ended.
fn between(likely: &Likely, holds_rps: f64) -> String {
    let low_rps = likely.low.max(holds_rps);
    let low = numbers::rate(low_rps);
    if likely.high <= low_rps {
        return format!("The limit seems to lie above {low} requests/s.");
    }
    let high = numbers::rate(likely.high);
    format!("The limit seems to lie between {low} and {high} requests/s.")
}

fn rate(tally: &TallyShape) -> String {
    numbers::rate(tally.rate_rps)
}

fn of_blocks(count: u32, tally: &TallyShape) -> String {
    format!("{count} of {} blocks", tally.blocks)
}

/// Lists how the search was done.
fn measured(found: &LoadSlo) -> Vec<String> {
    let load = format!(
        "open loop, {} arrivals, {} on {} thread{}",
        found.arrivals.name(),
        connections(found.connections, found.http, found.streams),
        found.threads,
        if found.threads == 1 { "" } else { "s" }
    );
    let search = format!(
        "{} blocks of {} after {} of settling, from {} to {} requests/s",
        found.blocks.len(),
        numbers::seconds(found.block_seconds),
        numbers::seconds(found.settle_seconds),
        numbers::rate(found.lowest_rps),
        numbers::rate(found.highest_rps)
    );
    vec![
        format!("target: {} ({})", found.target, found.address),
        format!("load: {load}"),
        format!(
            "closed loop: {} requests/s",
            numbers::rate(found.closed_loop_rps)
        ),
        format!("search: {search}"),
    ]
}

/// The rates that were confirmed or given up, with the figures of all their blocks.
fn decisive(searched: Searched<'_>) -> Table {
    let found = searched.found;
    let mut tallies: Vec<&TallyShape> = found.undecided.iter().collect();
    tallies.extend(found.holds.iter().chain(&found.fails));
    tallies.sort_by(|one, other| one.rate_rps.total_cmp(&other.rate_rps));
    let rows = tallies.into_iter().map(|tally| {
        vec![
            rate(tally),
            tally.held.to_string(),
            tally.failed.to_string(),
            tally.not_offered.to_string(),
            figures(tally, searched).join(", "),
        ]
    });
    let headings = [
        "requests/s",
        "held",
        "failed",
        "not offered",
        "over all blocks",
    ];
    Table::of_texts("The rates that decided", headings, rows)
}

/// Figures of the objective's terms, over all confirming blocks at the rate of `tally`.
fn figures(tally: &TallyShape, searched: Searched<'_>) -> Vec<String> {
    let mut response = Histogram::default();
    let (mut failed, mut blocks) = (0.0, 0.0);
    for (judged, block) in searched.found.blocks.iter().zip(searched.offered) {
        let is_at = judged.rate_rps.to_bits() == tally.rate_rps.to_bits();
        if is_at && judged.purpose == "confirming" {
            if let Some(latency) = &block.reading.latency {
                response.merge(&latency.response);
            }
            failed += judged.failed_share;
            blocks += 1.0;
        }
    }
    let terms = searched.objective.terms().iter();
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
    reason = "a mean of at most 39 hours in ns"
)]
fn response_ns(response: &Histogram, figure: Figure) -> Option<u64> {
    match figure {
        Figure::Quantile { percent } => response.quantile(percent / 100.0),
        Figure::Max => response.quantile(1.0),
        Figure::Mean => response.mean().map(|mean| mean.round() as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_said_to_lie_nowhere_below_what_holds() {
        let likely = Likely {
            low: 11_600.0,
            high: 38_100.0,
        };
        for (holds_rps, said) in [
            (0.0, "between 11,600 and 38,100 requests/s."),
            (31_600.0, "between 31,600 and 38,100 requests/s."),
            (40_000.0, "above 40,000 requests/s."),
        ] {
            let limit = between(&likely, holds_rps);
            assert_eq!(limit, format!("The limit seems to lie {said}"));
        }
    }
}
