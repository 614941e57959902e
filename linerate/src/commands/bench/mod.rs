//! `linerate bench 'COMMAND' 'COMMAND' …`: which command is faster, in CPU and memory too?

mod exports;
mod hands;
pub(crate) mod hyperfine;
mod order;
mod progress;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use model::bench::{BenchBlock, BenchCommand, BenchJudgement, BenchReport, BenchStudy, SavedBench};
use model::{CommandReading, Verdict};
use study::bench::Ending;
use study::plan::Design as _;
use study::rounds::SavedBlocks;
use study::store::{Resumed, Store};

use crate::console::Console;
use crate::shown::{quoted, show};
use crate::stopping;
use crate::strangers::OwnWord;
use exports::Exports;
use hands::LocalHands;
use hyperfine::HyperfineFlags;
use progress::ConsoleProgress;

/// Which command is faster: wall and CPU time and peak memory, in pairs, with a verdict
///
/// Each round runs every command once, in random order, and the first one twice: its second run is
/// the control, which must not differ. Verdicts come from pairs of runs of one round, so drift and
/// noisy neighbours affect all commands alike.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  linerate bench 'gzip -k -f -1 data' 'zstd -k -f -1 data'
  linerate bench -w 1 'rg -c main src' 'grep -rc main src'
  linerate bench -S -L level 1,6,9 --prepare 'rm -f out.gz' 'gzip -c -{level} data > out.gz'
  linerate bench -r 20 --fail-if-slower=5 ./old ./new && echo 'not slower by 5 % or more'

What is measured:
  Wall time runs from exec to the end of the process. Our fork before it is not included, nor is it
  in the CPU time, which is user and system time of the command and of the children it waited for.
  Both include some 50 µs, the same for all, in which exec releases what the fork copied.
  Peak memory is the largest of any one of these processes, as wait4(2) reports it. Standard error
  is read through a pipe, so that a failure can be reported with the end of it.

Shells:
  Commands are run directly unless -S or --shell says otherwise, as in hyperfine 2; what runs
  around them always has a shell. A shell's own start is in every figure and draws ratios towards 1.
  It is measured in a row of its own and never subtracted, since a difference of two noisy times is
  noisier than both.

hyperfine:
  Command lines of hyperfine 2.x and 1.x work as they are. Where the two differ, --hyperfine 1 or 2
  decides, and 2 is the default: in 1.x commands are given to a shell, -S takes its name, and the
  files of --export-… have another format. Cycles, instructions and misses are not measured.

Setup and rounds:
  --setup and --cleanup run once for each command, before the first round and after the last one;
  commands that need different states must keep them apart, such as in a folder for each {parameter}.
  --prepare and --conclude run around each single run and are not measured.

Run folders:
  With --out each run is on disk before the next begins. `linerate study resume FOLDER --trust`
  resumes a stopped comparison, in the folder where it was begun and with --setup and the warm-up
  repeated; `linerate study report FOLDER` prints the report again, also on another machine.

Exit codes:
  0 measured; 1 slower, where --fail-if-slower asks; 2 could not run; 130, 143 or 129 stopped by
  Ctrl-C, SIGTERM or SIGHUP.")]
pub(crate) struct Arguments {
    /// The commands to compare, the first being the reference; one alone is only measured
    #[arg(required = true, value_name = "COMMAND")]
    commands: Vec<String>,
    /// Rounds of warm-up, which are not counted
    #[arg(short, long, default_value_t = 0, value_name = "N")]
    warmup: u32,
    /// Rounds; otherwise as many as fit 3 s per command, from 16 to 200
    #[arg(short, long, value_name = "N", value_parser = rounds())]
    runs: Option<u32>,
    /// At least this many rounds
    #[arg(short, long, value_name = "N", value_parser = rounds(), conflicts_with = "runs", hide_short_help = true)]
    min_runs: Option<u32>,
    /// At most this many rounds
    #[arg(short = 'M', long, value_name = "N", value_parser = rounds(), conflicts_with = "runs", hide_short_help = true)]
    max_runs: Option<u32>,
    /// Run this once for each command before the first round
    #[arg(short, long, value_name = "CMD", hide_short_help = true)]
    setup: Option<String>,
    /// Run this before each run: one for all commands, or one for each
    #[arg(short, long, value_name = "CMD")]
    prepare: Vec<String>,
    /// Run this after each run: one for all commands, or one for each
    #[arg(short = 'C', long, value_name = "CMD", hide_short_help = true)]
    conclude: Vec<String>,
    /// Run this once for each command after the last round, whatever happened
    #[arg(short, long, value_name = "CMD", hide_short_help = true)]
    cleanup: Option<String>,
    /// Compare with this command instead of the first
    #[arg(long, value_name = "CMD")]
    reference: Option<String>,
    /// A name for the reference
    #[arg(
        long,
        value_name = "NAME",
        requires = "reference",
        hide_short_help = true
    )]
    reference_name: Option<String>,
    /// A name for a command; once for each, in order
    #[arg(short = 'n', long, value_name = "NAME")]
    command_name: Vec<String>,
    /// Run each command once for each value, with {VAR} replaced; `\,` is a comma in a value
    #[arg(short = 'L', long, num_args = 2, value_names = ["VAR", "A,B,C"], allow_hyphen_values = true)]
    parameter_list: Vec<String>,
    /// Run each command once for each number from MIN to MAX
    #[arg(short = 'P', long, num_args = 3, value_names = ["VAR", "MIN", "MAX"],
          allow_hyphen_values = true, conflicts_with = "parameter_list", hide_short_help = true)]
    parameter_scan: Vec<String>,
    /// Steps of --parameter-scan
    #[arg(
        short = 'D',
        long,
        value_name = "STEP",
        default_value = "1",
        requires = "parameter_scan",
        hide_short_help = true
    )]
    parameter_step_size: String,
    /// Give commands to a shell: `sh`
    #[arg(short = 'S', conflicts_with_all = ["shell", "no_shell"])]
    default_shell: bool,
    /// The shell, with its options; `default` for sh, `none` for none
    #[arg(long, value_name = "SHELL", hide_short_help = true)]
    shell: Option<String>,
    /// Run commands directly, without a shell
    #[arg(short = 'N', conflicts_with = "shell")]
    no_shell: bool,
    /// Variables for a command and what runs around it: 'A=1 B=2'; one for all commands, or one for each
    #[arg(long, value_name = "ASSIGNMENTS", hide_short_help = true)]
    env: Vec<String>,
    /// Count failed runs too: all but those that --timeout ended, or only those with these exit codes
    #[arg(short, long, value_name = "CODES", num_args = 0..=1, require_equals = true,
          default_missing_value = "all-non-zero")]
    ignore_failure: Option<order::IgnoredCodes>,
    /// End a run that takes longer, with all its children, as a failure
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    timeout: Option<Duration>,
    /// Standard input: `null` or a file
    #[arg(
        long,
        value_name = "WHERE",
        default_value = "null",
        hide_short_help = true
    )]
    input: String,
    /// Standard output: `null`, `pipe`, `inherit` or a file; one for all commands, or one for each
    #[arg(long, value_name = "WHERE")]
    output: Vec<String>,
    /// Let commands write to standard output, as --output inherit does
    #[arg(long, conflicts_with = "output", hide_short_help = true)]
    show_output: bool,
    /// The smallest change worth knowing, in per cent
    #[arg(long, default_value_t = 3.0, value_name = "PERCENT")]
    smallest_effect: f64,
    /// Exit with 1 when a command is judged worse in wall time than the reference, by more than
    /// this many per cent: its whole interval must lie beyond
    #[arg(long, value_name = "PERCENT", num_args = 0..=1, require_equals = true,
          default_missing_value = "0")]
    fail_if_slower: Option<f64>,
    /// Seed that repeats the random order of an earlier comparison
    #[arg(long, value_name = "N", hide_short_help = true)]
    seed: Option<u64>,
    /// Print one JSON value instead of the page
    #[arg(long)]
    json: bool,
    /// Save every run in this folder, from which a stopped comparison can be resumed
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    #[command(flatten)]
    hyperfine: HyperfineFlags,
}

/// Accepts 1 to 500 rounds; more would add no information.
fn rounds() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=500)
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    let facts = machine::facts::collect(false);
    let run = order::order(arguments)?.plan(facts, sys::clock::wall())?;
    let form = arguments.hyperfine.form(&run.started_utc);
    let exports = Exports::open(&arguments.hyperfine, form)?;
    let folder = arguments.out.as_deref();
    let claim = folder.map(Store::claim).transpose()?;
    let store = claim.map(|claim| claim.describe(&run)).transpose()?;
    let (report, ending) = measure(&run, SavedBlocks::new(Vec::new(), store), console)?;
    if report.judgement.rounds_done > 0 {
        exports.write(&report.record, console);
        match folder {
            Some(folder) => drop(show(folder, arguments.json, console)?),
            None => say(&report, arguments.json, console)?,
        }
    }
    let is_slower = is_slower(&report.judgement, arguments.fail_if_slower);
    match conclude(ending, || kept(&report, folder), console)? {
        Some(stopped) => Ok(stopped),
        None if is_slower => Ok(ExitCode::from(1)),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Resumes a stopped comparison. Returns the exit code to give if it is stopped again.
pub(crate) fn resume(
    folder: &Path,
    word: &OwnWord,
    console: &Console,
) -> anyhow::Result<Option<ExitCode>> {
    // Read only once, so that what is checked here is what is resumed.
    let opened: Resumed<BenchStudy, BenchCommand, _> = Store::resume(folder)?;
    let (store, run, blocks): (_, _, Vec<BenchBlock>) = opened;
    word.check(&run)?;
    word.trust.check_bench(&run, folder)?;
    if !run.remaining(&blocks).is_empty() {
        study::same_place::check_machine(&run, &machine::facts::collect(false))?;
    }
    let kept_in = SavedBlocks::new(blocks, Some(store));
    let (report, ending) = measure(&run, kept_in, console)?;
    conclude(ending, || kept(&report, Some(folder)), console)
}

fn measure(
    run: &SavedBench,
    kept: SavedBlocks<CommandReading>,
    console: &Console,
) -> anyhow::Result<(BenchReport, Ending)> {
    // Created before the progress line, whose thread must inherit the blocked signals.
    let mut hands = LocalHands::new()?;
    let mut progress = ConsoleProgress::new(console);
    let clock = study::Monotonic::default();
    let (record, ending) = study::bench::run(run, kept, &mut hands, &mut progress, &clock);
    progress.end();
    let judgement = judge::judge_bench(&record);
    Ok((report::bench::report(record, judgement), ending))
}

fn say(report: &BenchReport, json: bool, console: &Console) -> anyhow::Result<()> {
    if json {
        console.say(&serde_json::to_string_pretty(report)?);
    } else {
        let (width, colour) = (console.width(), console.colour());
        console.say_painted(&report::bench::render(report, width, colour));
    }
    Ok(())
}

/// Returns the exit code of a stopped comparison, and says what it leaves behind.
fn conclude(
    ending: Ending,
    kept: impl Fn() -> String,
    console: &Console,
) -> anyhow::Result<Option<ExitCode>> {
    match ending {
        Ending::Done => Ok(None),
        Ending::Stopped => {
            let signal = sys::stop::heard().context("stopped without a signal")?;
            console.error(&format!(
                "stopped by {}; {}",
                stopping::name(signal),
                kept()
            ));
            Ok(Some(stopping::exit_code(signal)))
        }
        Ending::Failed(failure) => Err(anyhow!(
            "{}\nto do: {}\n{}",
            failure.what,
            failure.advice,
            kept()
        )),
    }
}

/// Says what a run that ended early leaves behind.
fn kept(report: &BenchReport, folder: Option<&Path>) -> String {
    match (report.judgement.rounds_done, folder) {
        (_, Some(folder)) => format!(
            "what was measured is kept: `linerate study resume {} --trust` goes on",
            quoted(folder)
        ),
        (0, None) => "no round was finished".to_owned(),
        (rounds, None) => format!("the figures of {rounds} finished rounds are above"),
    }
}

/// Whether a command is slower by verdict: its whole interval lies beyond the limit, and the
/// control is in order.
fn is_slower(judgement: &BenchJudgement, limit_percent: Option<f64>) -> bool {
    limit_percent.is_some_and(|percent| {
        judgement.comparisons.iter().any(|comparison| {
            let low = comparison.wall.effect.map_or(0.0, |effect| effect.low);
            comparison.wall.verdict == Verdict::Worse && low > 1.0 + percent / 100.0
        })
    })
}
