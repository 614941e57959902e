//! Turns the command line into the order of a comparison.

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context as _, ensure};
use model::bench::{BenchRounds, Tolerated};
use model::command::{CommandInput, CommandOutput};
use study::bench::{BenchOrder, Parameter, USUAL_ROUNDS};

use super::{Arguments, hyperfine};

/// `all-non-zero`, or codes such as `1,2`.
#[derive(Clone, Debug)]
pub(super) struct IgnoredCodes(Tolerated);

impl FromStr for IgnoredCodes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "all-non-zero" {
            return Ok(Self(Tolerated::AllExits));
        }
        let codes = text.split(',').map(|code| code.trim().parse());
        let codes: Result<Vec<i32>, _> = codes.collect();
        codes
            .map(|codes| Self(Tolerated::Exits(codes)))
            .map_err(|_| "expected `all-non-zero`, or exit codes such as 1,2".to_owned())
    }
}

pub(super) fn order(arguments: &Arguments) -> anyhow::Result<BenchOrder> {
    let percent = arguments.smallest_effect;
    ensure!(
        (0.1..=90.0).contains(&percent),
        "--smallest-effect takes per cent from 0.1 to 90, not {percent}"
    );
    let slower = arguments.fail_if_slower.unwrap_or_default();
    ensure!(
        (0.0..=100_000.0).contains(&slower),
        "--fail-if-slower takes per cent from 0 to 100000, not {slower}"
    );
    let tolerated = arguments.ignore_failure.as_ref();
    let seed = arguments.seed.unwrap_or_else(crate::run::fresh_seed);
    Ok(BenchOrder {
        commands: arguments.commands.clone(),
        names: arguments.command_name.clone(),
        reference: arguments.reference.clone(),
        reference_name: arguments.reference_name.clone(),
        parameters: parameters(arguments)?,
        setup: arguments.setup.clone(),
        cleanup: arguments.cleanup.clone(),
        prepare: arguments.prepare.clone(),
        conclude: arguments.conclude.clone(),
        environment: arguments.env.clone(),
        shell: hyperfine::shell(arguments)?,
        input: input(arguments)?,
        output: output(arguments),
        timeout_ms: timeout_ms(arguments)?,
        tolerated: tolerated.map_or(Tolerated::None, |codes| codes.0.clone()),
        warmup_rounds: arguments.warmup,
        rounds: rounds(arguments)?,
        seed,
        smallest_effect: percent / 100.0,
        command: typed(arguments, seed),
    })
}

/// The command line as typed, with `--seed` added where it was not given.
fn typed(arguments: &Arguments, seed: u64) -> String {
    let typed = std::env::args_os().skip(1);
    let mut words: Vec<String> = typed
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let bench = words.iter().position(|word| word == "bench");
    if let (Some(bench), None) = (bench, arguments.seed) {
        words.insert(bench + 1, format!("--seed={seed}"));
    }
    format!("linerate {}", shell_words::join(words))
}

fn parameters(arguments: &Arguments) -> anyhow::Result<Vec<Parameter>> {
    let lists = arguments.parameter_list.chunks_exact(2);
    let mut parameters: Vec<Parameter> = lists
        .map(|pair| Parameter::list(&pair[0], &pair[1]))
        .collect();
    let step = &arguments.parameter_step_size;
    for range in arguments.parameter_scan.chunks_exact(3) {
        parameters.push(Parameter::range(&range[0], &range[1], &range[2], step)?);
    }
    Ok(parameters)
}

/// The standard input of all commands. A file that cannot be read is reported before anything runs.
fn input(arguments: &Arguments) -> anyhow::Result<CommandInput> {
    if arguments.input == "null" {
        return Ok(CommandInput::Null);
    }
    let path = PathBuf::from(&arguments.input);
    std::fs::File::open(&path)
        .with_context(|| format!("--input {} cannot be read; give another", path.display()))?;
    Ok(CommandInput::File(path))
}

fn output(arguments: &Arguments) -> Vec<CommandOutput> {
    if arguments.show_output {
        return vec![CommandOutput::Inherit];
    }
    let where_to = |text: &String| match text.as_str() {
        "null" => CommandOutput::Null,
        "pipe" => CommandOutput::Pipe,
        "inherit" => CommandOutput::Inherit,
        path => CommandOutput::File(PathBuf::from(path)),
    };
    arguments.output.iter().map(where_to).collect()
}

fn timeout_ms(arguments: &Arguments) -> anyhow::Result<Option<u64>> {
    let Some(timeout) = arguments.timeout else {
        return Ok(None);
    };
    let ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
    ensure!(
        (1..=u64::from(u32::MAX)).contains(&ms),
        "--timeout takes a time from 1 ms to 49 days"
    );
    Ok(Some(ms))
}

fn rounds(arguments: &Arguments) -> anyhow::Result<BenchRounds> {
    let usual = USUAL_ROUNDS;
    if let Some(runs) = arguments.runs {
        return Ok(BenchRounds {
            fewest: runs,
            most: runs,
        });
    }
    let most = arguments.max_runs;
    let fewest = arguments
        .min_runs
        .unwrap_or_else(|| usual.fewest.min(most.unwrap_or(usual.fewest)));
    let most = most.unwrap_or_else(|| usual.most.max(fewest));
    ensure!(
        fewest <= most,
        "--min-runs {fewest} is more than --max-runs {most}; give the smaller as --min-runs"
    );
    Ok(BenchRounds { fewest, most })
}
