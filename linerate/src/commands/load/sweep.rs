//! `linerate load --sweep connections=1..512 URL`: throughput, latency and cost by load.

mod figures;
mod json;
mod levels;
mod page;

use std::process::ExitCode;

use anyhow::ensure;
use judge::sweep::{Knee, UslFit};
use model::random::SplitMix64;
use model::reading::{LatencyReading, MachineCpu};
use model::{Doubt, Pace};
use report::numbers;
use study::order;
use sys::stop::{Again, StopSignal};
use traffic::load::{LoadOutcome, LoadPlan};

use super::Arguments;
use super::case::Case;
use super::target;
use crate::commands::whole_machine::Watched;
use crate::console::Console;
use crate::progress_line::ProgressLine;
use crate::stopping;
use figures::LevelFigures;
pub(super) use levels::{Axis, Sweep};

/// Rounds with which an interval at 95 % is one, and not the whole range.
pub(super) const DEFAULT_ROUNDS: u32 = 6;

/// One sweep as it was asked for and as it went: what the pages show.
struct Report<'a> {
    sweep: &'a Sweep,
    case: &'a Case<'a>,
    blocks: Vec<Block>,
    levels: Vec<LevelFigures>,
    law: Option<UslFit>,
    knee: Knee,
    is_over: bool,
    doubts: Vec<Doubt>,
    notes: Vec<String>,
}

/// One block of the sweep.
struct Block {
    /// From 1 on.
    round: u32,
    load: f64,
    throughput_rps: f64,
    /// Service times of closed loop, response times of open loop too.
    latency: LatencyReading,
    server_cpu_us: Option<f64>,
    client_cpu_us: Option<f64>,
    /// All CPUs of this machine.
    machine: Option<MachineCpu>,
    answered: u64,
    client_is_limit: bool,
    failed_share: f64,
}

/// Measures every level once a round, and says what they came to.
pub(super) fn run(sweep: &Sweep, case: &Case<'_>, console: &Console) -> anyhow::Result<ExitCode> {
    let loads = sweep.loads();
    check(sweep, &loads, case)?;
    let _stop = StopSignal::listen(Again::Kills)?;
    forecast(sweep, &loads, case, console);
    let blocks = measure(sweep, &loads, case, console)?;
    let planned = loads.len() * case.arguments.rounds as usize;
    let levels = figures::of_levels(&loads, &blocks, sweep.axis);
    let random = SplitMix64::new(case.arguments.seed());
    let judged = figures::judged(&levels);
    let report = Report {
        law: (sweep.axis == Axis::Connections)
            .then(|| judge::sweep::fit(&judged, random.clone().stream(1)))
            .flatten(),
        knee: judge::sweep::knee(&judged, random.stream(2)),
        sweep,
        case,
        is_over: blocks.len() == planned,
        notes: notes(case, &levels, blocks.len()),
        blocks,
        levels,
        doubts: super::cpu_doubts(&case.plan)?,
    };
    console.say(&if case.arguments.json {
        json::render(&report)
    } else {
        page::render(&report)
    });
    Ok(exit_code(&report))
}

/// Whether every level can be offered at all, and nothing was asked for that it leaves out.
fn check(sweep: &Sweep, loads: &[f64], case: &Case<'_>) -> anyhow::Result<()> {
    if sweep.axis == Axis::Connections {
        let Arguments {
            connections,
            arrivals,
            ..
        } = case.arguments;
        ensure!(
            connections.is_none(),
            "--sweep connections says itself how many are held open: leave -c out"
        );
        ensure!(
            arrivals.is_none(),
            "--sweep connections is a closed loop, in which --arrivals has no say: leave it out"
        );
    }
    for load in loads {
        let (connections, pace) = sweep.at(*load, case, 0);
        let plan = LoadPlan {
            connections,
            pace,
            threads: case.plan.threads.min(connections),
            ..case.plan.clone()
        };
        plan.check()?;
        plan.make_room()?;
    }
    Ok(())
}

/// Says how long it takes, before it begins.
fn forecast(sweep: &Sweep, loads: &[f64], case: &Case<'_>, console: &Console) {
    let rounds = case.arguments.rounds;
    let blocks = loads.len() as u64 * u64::from(rounds);
    console.note(&format!(
        "sweeping {} over {} levels of {} in {rounds} rounds of random order: {}; Ctrl-C ends it \
         with what is known",
        case.target.shown,
        loads.len(),
        sweep.axis.name(),
        numbers::duration(case.block_ns() * blocks)
    ));
}

/// Measures round by round until all are done or a signal comes.
fn measure(
    sweep: &Sweep,
    loads: &[f64],
    case: &Case<'_>,
    console: &Console,
) -> anyhow::Result<Vec<Block>> {
    let mut line = ProgressLine::new(console, super::case::PLAIN_LINES);
    let pids = target::pids(&case.plan.address);
    let rounds = order::rounds(loads.len(), case.arguments.rounds, case.arguments.seed());
    let mut blocks = Vec::new();
    for (round, order) in (1..).zip(&rounds) {
        for load in order.iter().map(|level| loads[*level]) {
            let (connections, pace) = sweep.at(load, case, round);
            let mut watched = Watched::new(&pids);
            let Some(outcome) = case.block(connections, pace, &mut watched)? else {
                line.end();
                return Ok(blocks);
            };
            blocks.push(Block::of(round, load, outcome, &watched));
            let text = format!("round {round}, {}", sweep.axis.words(load));
            line.step(blocks.len(), loads.len() * rounds.len(), &text);
        }
    }
    line.end();
    Ok(blocks)
}

impl Block {
    fn of(round: u32, load: f64, outcome: LoadOutcome, watched: &Watched) -> Self {
        let ledger = &outcome.ledger;
        let server_ns = watched.processes_ns(outcome.window_ns);
        let per_answer = |ns: u64| ns as f64 / 1e3 / outcome.answered as f64;
        let mut doubts = outcome.doubts.iter();
        Self {
            round,
            load,
            throughput_rps: outcome.throughput_rps(),
            server_cpu_us: server_ns.filter(|_| outcome.answered > 0).map(per_answer),
            client_cpu_us: outcome.client_cpu_us_per_request(),
            machine: watched.machine(outcome.window_ns),
            answered: outcome.answered,
            client_is_limit: doubts.any(|doubt| matches!(doubt, Doubt::ClientIsLimit { .. })),
            failed_share: ledger.errors.failed() as f64 / ledger.sent.max(1) as f64,
            latency: outcome.latency.unwrap_or_default(),
        }
    }
}

impl Sweep {
    /// Connections and pace of a level.
    fn at(&self, load: f64, case: &Case<'_>, round: u32) -> (u32, Pace) {
        match self.axis {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "whole numbers of connections, made from such"
            )]
            Axis::Connections => (load as u32, Pace::Closed),
            Axis::Rate => (case.plan.connections, case.arguments.open(load, round)),
        }
    }
}

fn notes(case: &Case<'_>, levels: &[LevelFigures], blocks: usize) -> Vec<String> {
    let mut notes = case.notes.clone();
    let named = |is: &dyn Fn(&LevelFigures) -> bool| {
        let of = levels.iter().filter(|level| is(level));
        let loads: Vec<String> = of.map(|level| numbers::whole(level.load)).collect();
        (!loads.is_empty()).then(|| loads.join(", "))
    };
    notes.extend(
        named(&|level| level.client_is_limit).map(|loads| {
            format!("at {loads} the client was the limit: knee and law leave that out")
        }),
    );
    notes.extend(named(&|level| level.is_silent).map(|loads| {
        format!("at {loads} a block had no right answer: knee and law leave that out")
    }));
    let lowest = levels.first().map_or(f64::INFINITY, |level| level.load);
    let has_fewer_threads = case
        .arguments
        .sweep
        .is_some_and(|sweep| sweep.axis == Axis::Connections)
        && lowest < f64::from(case.plan.threads);
    notes.extend(has_fewer_threads.then(|| {
        "levels below the number of threads (-t) are offered by fewer of them".to_owned()
    }));
    let mut judged = levels.iter().filter_map(|level| level.throughput_rps);
    let has_few = judged.any(|found| found.n < DEFAULT_ROUNDS);
    notes.extend(has_few.then(|| {
        format!(
            "with fewer than {DEFAULT_ROUNDS} rounds an interval is the whole range, and worth less \
             than 95 %"
        )
    }));
    notes.extend(sys::stop::heard().map(|signal| {
        format!(
            "stopped by {} after {blocks} blocks",
            stopping::name(signal)
        )
    }));
    notes
}

fn exit_code(report: &Report<'_>) -> ExitCode {
    if let Some(signal) = sys::stop::heard() {
        return stopping::exit_code(signal);
    }
    let answered = report.blocks.iter().any(|block| block.throughput_rps > 0.0);
    if answered {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
