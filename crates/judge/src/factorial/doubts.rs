//! What a sceptic would ask about a factorial run.

use model::command::CommandEnd;
use model::command_run::{CommandArm, CommandBlock, Measured};
use model::command_study::Better;
use model::judgement::{Change, LevelResult};
use model::study::Role;
use model::{CommandDoubt, CommandReading, CommandRun, Doubt};

use super::layout::Pair;
use super::{Factorial, agreement, exact, surroundings as beside};
use crate::{commands, count, doubts, surroundings};

/// The arms that may have no verdict. Runs that did not end in time are the longest ones, so the
/// others are a selection of short ones; and outputs that differ come from different work.
pub(super) fn void_arms<'a>(run: &'a CommandRun, blocks: &'a [CommandBlock]) -> Vec<&'a str> {
    let late = run.arms.iter().filter(|arm| timed_out(arm, blocks) > 0);
    let disagreeing = agreement::disagreements(run, blocks).into_iter();
    late.map(|arm| arm.name.as_str())
        .chain(disagreeing.flat_map(|cell| cell.arms))
        .collect()
}

/// Whether other sizes were measured than those that the study is about.
pub(super) fn is_smoke(run: &CommandRun) -> bool {
    let of_sizes = |doubt: &Doubt| matches!(doubt, Doubt::Command(CommandDoubt::SmokeSizes { .. }));
    run.doubts.iter().any(of_sizes)
}

/// All doubts; of each kind only the worst.
pub(super) fn of(study: &Factorial<'_>, control: Option<&LevelResult>) -> Vec<Doubt> {
    let smallest_visible = study.smallest_visible();
    let whole = [
        control.and_then(|control| control_differs(study, control)),
        too_few_pairs(study),
        doubts::unfinished(study.rounds_done, study.run.study.design.rounds),
        doubts::blind(smallest_visible, study.rules.smallest_effect),
        drift(study),
    ];
    let arms = study.run.arms.iter().flat_map(|arm| of_arm(study, arm));
    let outputs = agreement::disagreements(study.run, study.blocks).into_iter();
    let outputs = outputs.map(|found| outputs_differ(&found));
    let commands = outputs.chain(arms).map(Doubt::Command);
    let of_blocks = study
        .blocks
        .iter()
        .flat_map(|block| block.reading.doubts.iter().cloned());
    doubts::merged(
        whole
            .into_iter()
            .flatten()
            .chain(commands)
            .chain(of_blocks)
            .chain(beside::doubts(study.run, study.blocks))
            .chain(doubts::known_before(&study.run.doubts, smallest_visible)),
    )
}

fn control_differs(study: &Factorial<'_>, control: &LevelResult) -> Option<Doubt> {
    match &control.change {
        Change::Estimated(effect) => doubts::control_differs(&study.rules, Some(effect)),
        Change::Exact(same) if !exact::is_near(same, &study.rules) => {
            Some(Doubt::Command(CommandDoubt::ControlIsAnother {
                metric: study.metrics[0].title.clone(),
                value: same.value,
                against: same.against,
            }))
        }
        Change::Exact(_) | Change::Unknown => None,
    }
}

/// A doubt by the contrast with the fewest pairs. A contrast that has none because one of its arms
/// always failed is not short of rounds: that arm's failures are reported instead.
fn too_few_pairs(study: &Factorial<'_>) -> Option<Doubt> {
    let control = study.control_pair();
    let exact = study.pairs.iter().chain(&control);
    let exact = exact.filter_map(|pair| Some(study.exact(pair, 0)?.n));
    let family = study.family();
    let never = |arm: &str| study.primary().of_arm(arm).is_empty() && has_failed(study, arm);
    let varying = control.iter().filter(|pair| study.exact(pair, 0).is_none());
    let varying = varying.map(Pair::contrast).chain(family);
    let varying = varying.filter(|contrast| !contrast.arms().any(never));
    let varying = varying.map(|contrast| count(contrast.log_ratios(study.primary()).len()));
    doubts::too_few_pairs(&study.rules, exact.chain(varying).min()?)
}

fn has_failed(study: &Factorial<'_>, arm: &str) -> bool {
    let mut blocks = study.blocks.iter().filter(|block| block.arm == arm);
    blocks.any(|block| !block.reading.counts())
}

/// A doubt where the machine drifted, by the baseline, which runs in every round.
fn drift(study: &Factorial<'_>) -> Option<Doubt> {
    let is_baseline = |arm: &&CommandArm| arm.role == Role::Baseline;
    let baseline = study.run.arms.iter().find(is_baseline)?;
    let share = surroundings::shift_of(&study.primary().of_arm(&baseline.name))?;
    Some(Doubt::MachineShifted { share })
}

fn outputs_differ(found: &agreement::Disagreement<'_>) -> CommandDoubt {
    let cell: Vec<&str> = found.cell.values().map(String::as_str).collect();
    CommandDoubt::OutputsDiffer {
        cell: cell.join(", "),
        outputs: found.texts.map(str::to_owned).to_vec(),
    }
}

fn of_arm(study: &Factorial<'_>, arm: &CommandArm) -> Vec<CommandDoubt> {
    let blocks = study.blocks.iter().filter(|block| block.arm == arm.name);
    let runs: Vec<&Measured> = blocks.map(|block| &block.reading).collect();
    let readings: Vec<&CommandReading> = runs.iter().map(|run| &run.command).collect();
    let values = study.primary().of_arm(&arm.name);
    [
        late(arm, study.blocks),
        failed(arm, &runs),
        without_value(study, arm, &runs),
        commands::left_running(&arm.title, &readings),
        first_run(study, arm, &values),
        commands::outliers(&arm.title, values.get(1..).unwrap_or_default()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A doubt about the first run, only where the metric is a time: more of a rate, or of bytes, does
/// not make a run slow.
fn first_run(study: &Factorial<'_>, arm: &CommandArm, values: &[f64]) -> Option<CommandDoubt> {
    let metric = &study.metrics[0];
    let is_time = matches!(metric.unit.as_str(), "ns" | "µs" | "ms" | "s");
    let is_cost = metric.better == Better::Lower;
    (is_time && is_cost)
        .then(|| commands::first_run(&arm.title, values))
        .flatten()
}

fn timed_out(arm: &CommandArm, blocks: &[CommandBlock]) -> u32 {
    let is_late = |block: &&CommandBlock| {
        block.arm == arm.name && block.reading.command.end == CommandEnd::TimedOut
    };
    count(blocks.iter().filter(is_late).count())
}

fn late(arm: &CommandArm, blocks: &[CommandBlock]) -> Option<CommandDoubt> {
    let runs = timed_out(arm, blocks);
    (runs > 0).then(|| CommandDoubt::TimedOut {
        command: arm.title.clone(),
        runs,
    })
}

fn failed(arm: &CommandArm, runs: &[&Measured]) -> Option<CommandDoubt> {
    let is_failed = |run: &&&Measured| !run.counts() && run.command.end != CommandEnd::TimedOut;
    let failed: Vec<_> = runs.iter().filter(is_failed).collect();
    let first = failed.first()?;
    Some(CommandDoubt::LeftOut {
        command: arm.title.clone(),
        failed: count(failed.len()),
        runs: count(runs.len()),
        reason: first.failed.clone().unwrap_or_default(),
    })
}

/// A doubt where runs ended well and yet gave no value of the metric that verdicts are about.
fn without_value(
    study: &Factorial<'_>,
    arm: &CommandArm,
    runs: &[&Measured],
) -> Option<CommandDoubt> {
    let ended_well = runs.iter().filter(|run| run.counts());
    let silent = ended_well.count() - study.primary().of_arm(&arm.name).len();
    (silent > 0).then(|| CommandDoubt::SaysNothing {
        command: arm.title.clone(),
        metric: study.metrics[0].title.clone(),
        runs: count(silent),
    })
}
