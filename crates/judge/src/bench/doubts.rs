//! What a sceptic would ask about a comparison of commands.

use model::bench::{BenchArm, BenchComparison, BenchMetric};
use model::study::Role;
use model::{CommandDoubt, CommandReading, Doubt};

use super::{Bench, effect_on};
use crate::{commands, count, doubts, median, surroundings};

/// Commands shorter than this are largely the start and the end of a process.
const SHORT_NS: f64 = 5e6;
/// Share of a command's time above which the shell's own start is a doubt.
const SHELL_SHARE: f64 = 0.05;

/// All doubts; of each kind only the worst.
pub(super) fn of(bench: &Bench<'_>, control: Option<&BenchComparison>) -> Vec<Doubt> {
    let whole = [
        stopped(bench).map(Doubt::Command),
        control.and_then(|control| control_differs(bench, control)),
        too_few_pairs(bench),
        doubts::blind(bench.smallest_visible(), bench.rules.smallest_effect),
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
    let walls = bench.values(BenchMetric::Wall).of_arm(&arm.name);
    let readings: Vec<&CommandReading> = bench.readings(arm).collect();
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
    let rounds_done = bench.rounds_done();
    let rounds_planned = bench.record.rounds_planned;
    (rounds_done < rounds_planned).then_some(CommandDoubt::Stopped {
        rounds_done,
        rounds_planned,
    })
}

fn control_differs(bench: &Bench<'_>, control: &BenchComparison) -> Option<Doubt> {
    let effects = BenchMetric::ALL.map(|metric| effect_on(control, metric).effect);
    let mut effects = effects.iter().flatten();
    effects.find_map(|effect| doubts::control_differs(&bench.rules, Some(effect)))
}

fn too_few_pairs(bench: &Bench<'_>) -> Option<Doubt> {
    let walls = bench.values(BenchMetric::Wall);
    let pairs = |arm: &&BenchArm| bench.contrast(arm).log_ratios(walls).len();
    let fewest = bench
        .commands
        .iter()
        .copied()
        .map(|arm| pairs(&arm))
        .min()?;
    doubts::too_few_pairs(&bench.rules, count(fewest))
}

/// A doubt where the machine drifted, by the reference, which runs from the first round to the
/// last.
fn drift(bench: &Bench<'_>) -> Option<Doubt> {
    let walls = bench
        .values(BenchMetric::Wall)
        .of_arm(&bench.reference?.name);
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
    let shell_ns = median::of(&bench.values(BenchMetric::Wall).of_arm(&shell.name))?;
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
