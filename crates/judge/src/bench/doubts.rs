//! What a sceptic would ask about a comparison of commands.

use model::bench::{BenchArm, BenchComparison, BenchMetric};
use model::study::Role;
use model::{CommandDoubt, CommandReading, Doubt};

use super::{Bench, effect_on};
use crate::{commands, doubts, median, surroundings};

/// Commands shorter than this are largely the start and the end of a process.
const SHORT_NS: f64 = 5e6;
/// Share of a command's time above which the shell's own start is worth a word.
const SHELL_SHARE: f64 = 0.05;

/// All doubts, of one kind the worst.
pub(super) fn of(bench: &Bench<'_>, control: Option<&BenchComparison>) -> Vec<Doubt> {
    let whole = [
        stopped(bench).map(Doubt::Command),
        control.and_then(|control| control_differs(bench, control)),
        too_few_pairs(bench),
        blind(bench),
        drift(bench),
    ];
    let commands = bench.record.arms.iter().filter(|arm| is_command(arm));
    let own = commands.flat_map(|arm| of_command(bench, arm));
    doubts::merged(whole.into_iter().flatten().chain(own.map(Doubt::Command)))
}

fn is_command(arm: &BenchArm) -> bool {
    matches!(arm.role, Role::Baseline | Role::Step)
}

fn of_command(bench: &Bench<'_>, arm: &BenchArm) -> Vec<CommandDoubt> {
    let walls = bench.runs.values(&arm.name, BenchMetric::Wall);
    let readings: Vec<&CommandReading> = bench.runs.of_arm(&arm.name).collect();
    [
        failed(arm, &readings),
        commands::left_running(&arm.title, &readings),
        commands::first_run(&arm.title, &walls),
        commands::outliers(&arm.title, walls.get(1..).unwrap_or_default()),
        shell_share(bench, arm, &walls).or_else(|| short(arm, &walls)),
        at_floor(bench, arm),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn stopped(bench: &Bench<'_>) -> Option<CommandDoubt> {
    let rounds_done = bench.runs.complete_rounds(&bench.record.arms);
    let rounds_planned = bench.record.rounds_planned;
    (rounds_done < rounds_planned).then_some(CommandDoubt::Stopped {
        rounds_done,
        rounds_planned,
    })
}

fn control_differs(bench: &Bench<'_>, control: &BenchComparison) -> Option<Doubt> {
    let effects = BenchMetric::ALL.map(|metric| effect_on(control, metric).effect);
    let mut differing = effects.into_iter().flatten();
    let effect = differing.find(|effect| bench.rules.control_differs(effect))?;
    Some(Doubt::ControlDiffers {
        ratio: effect.ratio,
        p_value: effect.p_value,
    })
}

fn too_few_pairs(bench: &Bench<'_>) -> Option<Doubt> {
    let needed = bench.rules.fewest_pairs;
    let pairs = |arm: &&BenchArm| bench.log_ratios(arm, BenchMetric::Wall).len();
    let pairs = u32::try_from(bench.commands.iter().map(pairs).min()?).unwrap_or(u32::MAX);
    (pairs < needed).then_some(Doubt::TooFewPairs { pairs, needed })
}

fn blind(bench: &Bench<'_>) -> Option<Doubt> {
    let sought = bench.rules.smallest_effect;
    let smallest_visible = bench.smallest_visible()?;
    (smallest_visible > sought).then_some(Doubt::BlindToEffect {
        smallest_visible,
        sought,
    })
}

/// Of the reference, which is there from the first round to the last.
fn drift(bench: &Bench<'_>) -> Option<Doubt> {
    let walls = bench.runs.values(&bench.reference?.name, BenchMetric::Wall);
    let share = surroundings::shift_of(&walls)?;
    Some(Doubt::MachineShifted { share })
}

fn failed(arm: &BenchArm, readings: &[&CommandReading]) -> Option<CommandDoubt> {
    let failed = readings.iter().filter(|reading| !reading.end.is_success());
    let failed = count(failed.count());
    (failed > 0).then(|| CommandDoubt::Failed {
        command: arm.title.clone(),
        failed,
        runs: count(readings.len()),
    })
}

fn shell_share(bench: &Bench<'_>, arm: &BenchArm, walls: &[f64]) -> Option<CommandDoubt> {
    let shell = bench
        .record
        .arms
        .iter()
        .find(|arm| arm.role == Role::Floor)?;
    let shell_ns = median::of(&bench.runs.values(&shell.name, BenchMetric::Wall))?;
    let share = shell_ns / median::of(walls)?;
    (share > SHELL_SHARE).then(|| CommandDoubt::ShellShare {
        command: arm.title.clone(),
        share: share.min(1.0),
    })
}

fn short(arm: &BenchArm, walls: &[f64]) -> Option<CommandDoubt> {
    let wall_ns = median::of(walls)?;
    (wall_ns < SHORT_NS).then(|| CommandDoubt::Short {
        command: arm.title.clone(),
        wall_ns,
    })
}

fn at_floor(bench: &Bench<'_>, arm: &BenchArm) -> Option<CommandDoubt> {
    bench.is_at_floor(arm).then(|| CommandDoubt::MemoryAtFloor {
        command: arm.title.clone(),
        floor_bytes: bench.record.memory_floor_bytes,
    })
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
