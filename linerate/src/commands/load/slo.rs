//! `linerate load --slo OBJECTIVE URL`: the highest rate that holds it.

mod json;
mod look;
mod page;

use std::process::ExitCode;

use anyhow::bail;
use judge::capacity::{
    Agreed, BLOCKS_AS_A_RULE, BLOCKS_AT_MOST, Found, LITTLE_TRUST, Search, Seen, TRUST,
};
use judge::objective::{Served, holds, holds_by_service};
use model::objective::{Objective, Term};
use model::random::SplitMix64;
use model::{Doubt, Histogram};
use report::numbers;
use sys::stop::{Again, StopSignal};
use traffic::load::{LoadOutcome, LoadPlan};

use super::UntilStopped;
use super::case::Case;
use crate::console::Console;
use crate::progress_line::ProgressLine;
use crate::stopping;
use look::Look;

/// A client that waited for its CPU for more of a block than this measured its neighbours as well.
const WAITED_LIMIT_SHARE: f64 = 0.1;
/// A block is so many times as long as the longest time that is asked about.
const LIMITS_IN_A_BLOCK: u64 = 10;
/// Less of what was due than this is answered in time only where a queue grows: with limits of a
/// tenth of the block at most, no more than a tenth is under way when the block ends.
const KEPT_UP_SHARE: f64 = 0.9;

/// One search as it was asked for and as it went: what the pages show.
struct Report<'a> {
    objective: &'a Objective,
    case: &'a Case<'a>,
    look: Look,
    lowest_rps: f64,
    highest_rps: f64,
    blocks: Vec<Block>,
    found: Found,
    doubts: Vec<Doubt>,
    notes: Vec<String>,
}

/// One block of the search.
struct Block {
    rate_rps: f64,
    purpose: &'static str,
    seen: Seen,
    trust: f64,
    throughput_rps: f64,
    failed_share: f64,
    occupied_share: f64,
    response: Histogram,
}

/// Searches, and says what it found; what was found until then if a signal comes.
pub(super) fn run(
    objective: &Objective,
    case: &Case<'_>,
    console: &Console,
) -> anyhow::Result<ExitCode> {
    check_limits(objective, &case.plan)?;
    let _stop = StopSignal::listen(Again::Kills)?;
    let Some(look) = Look::take(case)? else {
        return Ok(nothing_known(console));
    };
    let range = look.range(objective, case)?;
    forecast(objective, case, console);
    let random = SplitMix64::new(case.arguments.seed());
    let mut search = Search::new(range, random);
    let blocks = measure(&mut search, objective, case, &look, console)?;
    let found = search.found();
    let report = Report {
        objective,
        case,
        notes: notes(case, &look, &found),
        look,
        lowest_rps: range.lowest_rps,
        highest_rps: range.highest_rps,
        blocks,
        found,
        doubts: super::cpu_doubts(&case.plan)?,
    };
    console.say(&if case.arguments.json {
        json::render(&report)
    } else {
        page::render(&report)
    });
    Ok(exit_code(&report))
}

/// A request is given up after the timeout, so that no longer limit could be seen to fail. Nor could
/// one in a block too short for a queue to grow so long: what waits when it ends is cut off there.
fn check_limits(objective: &Objective, plan: &LoadPlan) -> anyhow::Result<()> {
    for term in objective.terms() {
        let Term::Response { below_ns, .. } = term else {
            continue;
        };
        let needed_ns = below_ns.saturating_mul(LIMITS_IN_A_BLOCK);
        if *below_ns > plan.timeout_ns {
            bail!(
                "--slo: {term} is not below the --timeout of {}, after which a request is given \
                 up; ask for a longer --timeout",
                numbers::duration(plan.timeout_ns)
            );
        }
        if needed_ns > plan.score_ns {
            bail!(
                "--slo: no queue of {term} can grow in a block of {}; ask for longer blocks, of {} \
                 at least (-d)",
                numbers::duration(plan.score_ns),
                numbers::duration(needed_ns)
            );
        }
    }
    Ok(())
}

/// Says how long it takes, before it begins.
fn forecast(objective: &Objective, case: &Case<'_>, console: &Console) {
    let time = |blocks: u32| numbers::duration(case.block_ns() * u64::from(blocks));
    console.note(&format!(
        "searching the highest rate at which {} holds {objective}: some {BLOCKS_AS_A_RULE} blocks \
         of {} after {} of settling, {}, and {} at most; Ctrl-C ends it with what is known",
        case.target.shown,
        numbers::duration(case.plan.score_ns),
        numbers::duration(case.plan.settle_ns),
        time(BLOCKS_AS_A_RULE),
        time(BLOCKS_AT_MOST)
    ));
}

/// Measures block by block until the search is over or a signal comes.
fn measure(
    search: &mut Search,
    objective: &Objective,
    case: &Case<'_>,
    look: &Look,
    console: &Console,
) -> anyhow::Result<Vec<Block>> {
    let mut line = ProgressLine::new(console, super::case::PLAIN_LINES);
    let mut blocks = Vec::new();
    for index in 0.. {
        let Some(rate_rps) = search.next_rps() else {
            break;
        };
        let purpose = search.purpose();
        let pace = case.arguments.open(rate_rps, index);
        let Some(outcome) = case.block(case.plan.connections, pace, &mut UntilStopped)? else {
            break;
        };
        let (seen, trust) = judge(objective, &outcome, case, look);
        search.saw(seen, trust);
        blocks.push(Block::of(rate_rps, purpose, (seen, trust), outcome));
        let planned = blocks.len().max(BLOCKS_AS_A_RULE as usize);
        let text = format!(
            "{purpose}: {} at {} requests/s",
            said(seen),
            numbers::rate(rate_rps)
        );
        line.step(blocks.len(), planned, &text);
    }
    line.end();
    Ok(blocks)
}

/// What a block says, and how far it is to be trusted.
fn judge(
    objective: &Objective,
    outcome: &LoadOutcome,
    case: &Case<'_>,
    look: &Look,
) -> (Seen, f64) {
    let Some(latency) = &outcome.latency else {
        return (Seen::NotOffered, LITTLE_TRUST);
    };
    let served = Served {
        latency,
        ledger: &outcome.ledger,
        timeout_ns: case.plan.timeout_ns,
    };
    let mut doubts = outcome.doubts.iter();
    let client_is_limit = doubts.any(|doubt| matches!(doubt, Doubt::ClientIsLimit { .. }));
    let keeps_up = outcome.throughput_rps() >= KEPT_UP_SHARE * latency.offered_rps;
    let seen = if keeps_up && holds(objective, &served) {
        Seen::Holds
    } else if client_is_limit || look.connections_bind() && holds_by_service(objective, &served) {
        Seen::NotOffered
    } else {
        Seen::Fails
    };
    let waited_share = outcome.client_occupied_share - outcome.client_busy_share;
    let is_calm = waited_share <= WAITED_LIMIT_SHARE;
    (seen, if is_calm { TRUST } else { LITTLE_TRUST })
}

impl Report<'_> {
    /// The blocks of the confirmation at a rate.
    fn confirming(&self, rate_rps: f64) -> impl Iterator<Item = &Block> {
        let is_at = move |block: &&Block| block.rate_rps.to_bits() == rate_rps.to_bits();
        let confirming = |block: &&Block| block.purpose == "confirming";
        self.blocks.iter().filter(confirming).filter(is_at)
    }
}

impl Block {
    fn of(
        rate_rps: f64,
        purpose: &'static str,
        (seen, trust): (Seen, f64),
        outcome: LoadOutcome,
    ) -> Self {
        let ledger = &outcome.ledger;
        Self {
            rate_rps,
            purpose,
            seen,
            trust,
            throughput_rps: outcome.throughput_rps(),
            failed_share: ledger.errors.failed() as f64 / ledger.sent.max(1) as f64,
            occupied_share: outcome.client_occupied_share,
            response: outcome.latency.unwrap_or_default().response,
        }
    }
}

fn said(seen: Seen) -> &'static str {
    match seen {
        Seen::Holds => "held",
        Seen::Fails => "failed",
        Seen::NotOffered => "not offered",
    }
}

fn notes(case: &Case<'_>, look: &Look, found: &Found) -> Vec<String> {
    let mut notes = case.notes.clone();
    notes.extend(look.note(case.plan.connections));
    notes.extend(found.hysteresis.map(|hysteresis| {
        format!(
            "{} requests/s held on the way up, and after the first failure nothing above {} did: \
             the target may stay slow once it was overloaded",
            numbers::rate(hysteresis.going_up_rps),
            numbers::rate(hysteresis.coming_down_rps)
        )
    }));
    notes.extend(sys::stop::heard().map(|signal| {
        let by = stopping::name(signal);
        format!("stopped by {by} after {} blocks", found.blocks)
    }));
    notes
}

fn nothing_known(console: &Console) -> ExitCode {
    let signal = sys::stop::heard().unwrap_or_default();
    console.note(&format!(
        "stopped by {} before anything was known",
        stopping::name(signal)
    ));
    stopping::exit_code(signal)
}

/// No rate holds, down to the lowest that a block can judge: the answer is no.
fn exit_code(report: &Report<'_>) -> ExitCode {
    if let Some(signal) = sys::stop::heard() {
        return stopping::exit_code(signal);
    }
    if fails_at_the_lowest(report) {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

fn fails_at_the_lowest(report: &Report<'_>) -> bool {
    let fails = report.found.fails;
    let is_lowest = |rate_rps: f64| rate_rps <= report.lowest_rps * (1.0 + 1e-9);
    let fails_there =
        fails.is_some_and(|of| is_lowest(of.rate_rps) && of.agreed() == Some(Agreed::Fails));
    report.found.holds.is_none() && fails_there
}
