//! Runs `linerate load --sweep` and `--slo`, and saves the run in a folder if one is asked for.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, bail, ensure};
use clap::FromArgMatches as _;
use judge::capacity::{BLOCKS_AS_A_RULE, BLOCKS_AT_MOST, OFFERED, judge_capacity};
use model::load_run::{Level, LoadWorkload, SavedLoad};
use model::objective::{Objective, Term};
use model::run::{Begun, RUN_FILE};
use model::sweep::{Axis, Sweep};
use model::{BlockRecord, Pace};
use report::numbers;
use study::plan::Design as _;
use study::store::{KeptIn, Resumed, Store};
use sys::stop::{Again, StopSignal};
use traffic::load::LoadPlan;

use super::Arguments;
use super::arguments::TIMEOUTS_IN_A_BLOCK;
use super::case::{Blocks, Case};
use crate::console::Console;
use crate::failure::words;
use crate::load_forms::judged;
use crate::request::KEPT_BACK;
use crate::strangers::OwnWord;
use crate::{repeat, shown, stopping};

/// A block must be this many times as long as the longest time limit of the objective.
const LIMITS_IN_A_BLOCK: u64 = 10;

/// Checks that what is asked for is consistent, before any server is contacted.
pub(super) fn check(
    workload: &LoadWorkload,
    arguments: &Arguments,
    plan: &LoadPlan,
) -> anyhow::Result<()> {
    match workload {
        LoadWorkload::Sweep { range, .. } => check_levels(*range, arguments, plan),
        LoadWorkload::Capacity { objective } => check_limits(objective, plan),
    }
}

/// Measures all blocks that the folder does not have yet, and prints the result.
pub(super) fn run(
    workload: LoadWorkload,
    case: &Case<'_>,
    console: &Console,
) -> anyhow::Result<ExitCode> {
    let folder = case.arguments.out.as_deref();
    let _stop = StopSignal::listen(Again::Kills)?;
    let (run, blocks, kept) = opened(workload, case, console)?;
    forecast(&run, &blocks, case, console);
    let mut hands = Blocks::of(case, console);
    let clock = study::Monotonic::default();
    let measured = study::load::run(&run, blocks, kept, &mut hands, &clock);
    hands.end();
    let blocks = measured.map_err(words)?;
    let code = match folder.filter(|folder| folder.join(RUN_FILE).exists()) {
        Some(folder) => shown::show(folder, case.arguments.json, console)?,
        None => say(&run, &blocks, case.arguments.json, console)?,
    };
    let Some(signal) = sys::stop::heard() else {
        return Ok(code);
    };
    if let Some(folder) = folder {
        console.note(&format!(
            "what was measured is kept: `linerate study resume {} --trust` goes on",
            shown::quoted(folder)
        ));
    }
    Ok(stopping::exit_code(signal))
}

/// The run as it is asked for, with the blocks that its folder has already.
fn opened(
    workload: LoadWorkload,
    case: &Case<'_>,
    console: &Console,
) -> anyhow::Result<(SavedLoad, Vec<BlockRecord>, KeptIn)> {
    let levels = match &workload {
        LoadWorkload::Sweep { range, .. } => Level::all_of(range),
        LoadWorkload::Capacity { .. } => Vec::new(),
    };
    let seed = case.arguments.seed();
    let command = repeat::command(&[], seed, console);
    let by = Begun::at(sys::clock::wall(), command, seed);
    let facts = machine::facts::collect(false);
    let mut run = SavedLoad::begun(case.study(workload), levels, facts, by);
    run.doubts = super::cpu_doubts(&case.plan)?;
    let Some(folder) = case.arguments.out.as_deref() else {
        return Ok((run, Vec::new(), KeptIn::Nowhere));
    };
    if !folder.join(RUN_FILE).exists() {
        return Ok((run, Vec::new(), KeptIn::Claimed(Store::claim(folder)?)));
    }
    let (store, saved, blocks): Resumed<_, _, _> = Store::resume(folder)?;
    check_same(&saved, &run, folder)?;
    Ok((saved, blocks, KeptIn::Open(store)))
}

/// Checks that the run to resume is the one that the folder holds.
fn check_same(saved: &SavedLoad, asked: &SavedLoad, folder: &Path) -> anyhow::Result<()> {
    let question = |run: &SavedLoad| {
        let mut study = run.study.clone();
        study.notes.clear();
        // Older folders have no mark.
        study.mark = study.mark.filter(|_| saved.study.mark.is_some());
        (study, run.seed)
    };
    ensure!(
        question(saved) == question(asked),
        "{} holds another run, or one of another request: {}; give another folder with --out",
        folder.display(),
        saved.command
    );
    study::same_place::check_machine(saved, &asked.facts)?;
    Ok(())
}

/// Resumes the run in a folder. Returns the exit code to give.
pub(crate) fn resume(
    folder: &Path,
    word: &OwnWord,
    json: bool,
    console: &Console,
) -> anyhow::Result<ExitCode> {
    let (run, _) = report::folder::read_load(folder)?;
    word.check(&run)?;
    word.trust.check_load(&run.command, folder)?;
    let again = || {
        format!(
            "type the command of {0} again with --out {0}, which goes on with it: {1}",
            folder.display(),
            run.command
        )
    };
    if run.command.contains(KEPT_BACK) {
        bail!("what may be secret is not kept in a folder; {}", again());
    }
    let words = shell_words::split(&run.command).with_context(again)?;
    let read = console.command_line().try_get_matches_from(words);
    let read = read.map_err(anyhow::Error::from).with_context(again)?;
    let load = read.subcommand_matches("load").with_context(again)?;
    let mut arguments = Arguments::from_arg_matches(load)?;
    arguments.out = Some(folder.to_owned());
    arguments.json = json;
    super::run(&arguments, console)
}

/// Checks that every level can be offered, and that no flag was given that a sweep leaves out.
fn check_levels(range: Sweep, arguments: &Arguments, plan: &LoadPlan) -> anyhow::Result<()> {
    if range.axis == Axis::Connections {
        ensure!(
            arguments.connections.is_none(),
            "--sweep connections says itself how many are held open: leave -c out"
        );
        ensure!(
            arguments.arrivals.is_none(),
            "--sweep connections is a closed loop, in which --arrivals has no effect: leave it out"
        );
    }
    for load in range.loads() {
        let pace = match range.axis {
            Axis::Connections => Pace::Closed,
            Axis::Rate => arguments.open(load, 0),
        };
        let plan = LoadPlan {
            pace,
            ..plan.clone()
        };
        plan.check()?;
        plan.make_room()?;
    }
    Ok(())
}

/// Refuses limits that could not be seen to fail. A request is given up after the timeout, so no
/// limit may be longer. A block must be long enough for a queue to grow to the limit, because what
/// waits when the block ends is cut off. And a request that hangs is no error before the timeout.
fn check_limits(objective: &Objective, plan: &LoadPlan) -> anyhow::Result<()> {
    for term in objective.terms() {
        let Term::Response { below_ns, .. } = term else {
            check_timeout(term, plan)?;
            continue;
        };
        let needed_ns = below_ns.saturating_mul(LIMITS_IN_A_BLOCK);
        if needed_ns > plan.score_ns {
            bail!(
                "--slo: no queue of {term} can grow in a block of {}; ask for longer blocks, of {} \
                 at least (-d)",
                numbers::duration(plan.score_ns),
                numbers::duration(needed_ns)
            );
        }
        if *below_ns > plan.timeout_ns {
            bail!(
                "--slo: {term} is not below the --timeout of {}, after which a request is given \
                 up; ask for a longer --timeout",
                numbers::duration(plan.timeout_ns)
            );
        }
    }
    Ok(())
}

/// Checks that a request that hangs can fail within a block.
fn check_timeout(term: &Term, plan: &LoadPlan) -> anyhow::Result<()> {
    let longest_ns = plan.score_ns / TIMEOUTS_IN_A_BLOCK;
    ensure!(
        plan.timeout_ns <= longest_ns,
        "--slo: {term} does not see what hangs: in a block of {} too few requests can reach the --timeout \
         of {}; ask for one of {} at most, or for longer blocks, of {} at least (-d)",
        numbers::duration(plan.score_ns),
        numbers::duration(plan.timeout_ns),
        numbers::duration(longest_ns),
        numbers::duration(plan.timeout_ns.saturating_mul(TIMEOUTS_IN_A_BLOCK))
    );
    Ok(())
}

/// Says how long the run takes, before it begins or is resumed; or that one that is over is only
/// reported again.
fn forecast(run: &SavedLoad, blocks: &[BlockRecord], case: &Case<'_>, console: &Console) {
    let target = &run.study.target;
    let folder = case.arguments.out.as_deref();
    if let Some(folder) = folder.filter(|_| !blocks.is_empty()) {
        let folder = folder.display();
        let what = match run.study.workload {
            LoadWorkload::Sweep { .. } => "sweep",
            LoadWorkload::Capacity { .. } => "search",
        };
        if is_over(run, blocks) {
            return console.note(&format!(
                "this {what} is over; reported again from {folder}"
            ));
        }
        console.note(&format!("going on with the {what} in {folder}"));
    }
    console.note(&match &run.study.workload {
        LoadWorkload::Sweep { range, rounds } => format!(
            "sweeping {target} over {} levels of {} in {rounds} rounds of random order: {}; Ctrl-C ends it \
             with what is known",
            run.arms.len(),
            match range.axis {
                Axis::Connections => "connections",
                Axis::Rate => "requests/s",
            },
            numbers::duration(case.block_ns() * run.remaining(blocks).len() as u64)
        ),
        LoadWorkload::Capacity { objective } => format!(
            "searching for the highest rate at which {target} meets {objective}: some {BLOCKS_AS_A_RULE} blocks \
             of {} after {} of settling, {}; Ctrl-C ends it with what is known",
            numbers::duration(case.plan.score_ns),
            numbers::duration(case.plan.settle_ns),
            time_of_search(blocks, case.block_ns())
        ),
    });
}

/// Whether nothing of the run is left to be measured.
fn is_over(run: &SavedLoad, blocks: &[BlockRecord]) -> bool {
    match &run.study.workload {
        LoadWorkload::Sweep { .. } => run.remaining(blocks).is_empty(),
        LoadWorkload::Capacity { objective } => {
            judge_capacity(run, objective, blocks).is_some_and(|found| found.is_over)
        }
    }
}

/// How long the rest of a search usually takes, unless it has taken longer already, and at most.
fn time_of_search(blocks: &[BlockRecord], block_ns: u64) -> String {
    let offered = blocks.iter().filter(|block| block.arm == OFFERED);
    let done = offered.count() as u64;
    let left_ns = |blocks: u32| block_ns * u64::from(blocks).saturating_sub(done);
    let at_most = format!("{} at most", numbers::duration(left_ns(BLOCKS_AT_MOST)));
    match left_ns(BLOCKS_AS_A_RULE) {
        0 => at_most,
        usual_ns => format!("{}, and {at_most}", numbers::duration(usual_ns)),
    }
}

fn say(
    run: &SavedLoad,
    blocks: &[BlockRecord],
    json: bool,
    console: &Console,
) -> anyhow::Result<ExitCode> {
    let Some(judged) = judged(run, blocks, console) else {
        let signal = sys::stop::heard().unwrap_or_default();
        console.note(&format!(
            "stopped by {} before anything was known",
            stopping::name(signal)
        ));
        return Ok(stopping::exit_code(signal));
    };
    judged.tell(json, console);
    Ok(judged.code)
}
