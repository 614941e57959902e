//! What a run still has to measure: pure, so that a resumed run goes on exactly as planned.

use std::collections::HashSet;

use model::bench::{BenchBlock, SavedBench};
use model::load_run::{LoadWorkload, SavedLoad};
use model::run::Confirmation;
use model::run::Phase;
use model::study::{Arm, DesignKind, Role};
use model::{BlockRecord, CommandBlock, CommandRun, RunRecord, Study};

use crate::order;

/// One block that is to be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    pub phase: Phase,
    pub round: u32,
    /// Place within the round, from 0.
    pub position: u32,
    /// Index into the arms of its phase.
    pub arm: usize,
}

impl Planned {
    /// The block that it came to, in this epoch and so many ms after that began.
    pub(crate) fn record<R>(
        &self,
        arm: &str,
        (epoch, at_ms): (u32, u64),
        reading: R,
    ) -> BlockRecord<R> {
        BlockRecord {
            phase: self.phase,
            epoch,
            round: self.round,
            position: self.position,
            arm: arm.to_owned(),
            at_ms,
            reading,
        }
    }
}

/// The epoch of what is measured after these blocks.
pub(crate) fn next_epoch<R>(saved: &[BlockRecord<R>]) -> u32 {
    saved.iter().map(|block| block.epoch + 1).max().unwrap_or(0)
}

/// The blocks that are planned from the start and not saved yet, in order.
#[must_use]
pub fn remaining(record: &RunRecord, saved: &[BlockRecord]) -> Vec<Planned> {
    let mut planned = planned(record);
    if let Some(rounds) = judge::settled_rounds(record, saved) {
        planned.retain(|block| block.phase != Phase::Throughput || block.round < rounds);
    }
    without_saved(planned, |arm| &record.arms[arm].name, saved)
}

/// The blocks of the confirmation of a ladder's last state that are not saved yet.
#[must_use]
pub fn remaining_confirmation(
    record: &RunRecord,
    confirmation: &Confirmation,
    saved: &[BlockRecord],
) -> Vec<Planned> {
    let everyone: Vec<usize> = (0..confirmation.arms.len()).collect();
    let whole = record.study.whole.as_ref();
    let rounds = whole.map_or(0, |whole| whole.confirm_rounds);
    let planned = phase(
        Phase::Confirmation,
        &everyone,
        rounds,
        other_seed(record, 2),
    );
    without_saved(planned, |arm| &confirmation.arms[arm].name, saved)
}

/// The blocks of the last state in a boot that are not saved yet, by its place among those of the run;
/// none where the run has no such boot.
#[must_use]
pub fn remaining_in_boot(record: &RunRecord, boot: usize, saved: &[BlockRecord]) -> Vec<Planned> {
    let Some(reboot) = &record.reboot else {
        return Vec::new();
    };
    let everyone: Vec<usize> = (0..reboot.arms.len()).collect();
    let rounds = reboot.rounds_of(boot);
    let seed = other_seed(record, 3);
    let mut planned = phase(Phase::Boot, &everyone, rounds.end, seed);
    planned.retain(|block| rounds.contains(&block.round));
    without_saved(planned, |arm| &reboot.arms[arm].name, saved)
}

/// The blocks of a run of commands that are not saved yet: every arm once a round.
#[must_use]
pub fn remaining_commands(run: &CommandRun, saved: &[CommandBlock]) -> Vec<Planned> {
    let everyone: Vec<usize> = (0..run.arms.len()).collect();
    let planned = phase(Phase::Command, &everyone, run.study.design.rounds, run.seed);
    without_saved(planned, |arm| &run.arms[arm].name, saved)
}

/// The runs of a comparison that are not saved yet: of as many rounds as it may have, until it is settled
/// how many it has.
#[must_use]
pub fn remaining_bench(run: &SavedBench, saved: &[BenchBlock]) -> Vec<Planned> {
    let everyone: Vec<usize> = (0..run.arms.len()).collect();
    let rounds = run.study.rounds_planned.unwrap_or(run.study.rounds.most);
    let planned = phase(Phase::Command, &everyone, rounds, run.seed);
    without_saved(planned, |arm| &run.arms[arm].arm.name, saved)
}

/// The levels of a sweep that are not saved yet; none of any other load.
#[must_use]
pub fn remaining_levels(run: &SavedLoad, saved: &[BlockRecord]) -> Vec<Planned> {
    let LoadWorkload::Sweep { rounds, .. } = run.study.workload else {
        return Vec::new();
    };
    let everyone: Vec<usize> = (0..run.arms.len()).collect();
    let planned = phase(Phase::Level, &everyone, rounds, run.seed);
    without_saved(planned, |arm| &run.arms[arm].name, saved)
}

fn without_saved<'a, R>(
    mut blocks: Vec<Planned>,
    name_of: impl Fn(usize) -> &'a String,
    saved: &[BlockRecord<R>],
) -> Vec<Planned> {
    let done: HashSet<_> = saved.iter().map(BlockRecord::key).collect();
    blocks.retain(|block| {
        let name = name_of(block.arm).as_str();
        !done.contains(&(block.phase, block.round, name))
    });
    blocks
}

fn planned(record: &RunRecord) -> Vec<Planned> {
    let everyone: Vec<usize> = (0..record.arms.len()).collect();
    let rounds = record.study.design.rounds;
    let mut blocks = phase(Phase::Throughput, &everyone, rounds, record.seed);
    if let Some(latency) = &record.study.latency {
        let seed = other_seed(record, 1);
        blocks.extend(phase(
            Phase::Latency,
            &in_open_loop(&record.study, &record.arms),
            latency.blocks,
            seed,
        ));
    }
    blocks
}

/// Another seed than that of the rounds, or all phases would be shuffled alike.
fn other_seed(record: &RunRecord, phase: u64) -> u64 {
    record.seed.wrapping_add(phase << 32)
}

/// Each of these arms once a round, in random order.
#[must_use]
pub fn phase(phase: Phase, arms: &[usize], rounds: u32, seed: u64) -> Vec<Planned> {
    let orders = order::rounds(arms.len(), rounds, seed);
    let blocks = (0..).zip(orders).flat_map(|(round, order)| {
        let places = (0..).zip(order);
        places.map(move |(position, at)| Planned {
            phase,
            round,
            position,
            arm: arms[at],
        })
    });
    blocks.collect()
}

/// The arms whose latency is measured: of a ladder both its ends, and all that are compared.
pub(crate) fn in_open_loop(study: &Study, arms: &[Arm]) -> Vec<usize> {
    let is_compared = |at: &usize| matches!(arms[*at].role, Role::Baseline | Role::Step);
    let all: Vec<usize> = (0..arms.len()).filter(is_compared).collect();
    match (study.design.kind, all.as_slice()) {
        (DesignKind::Ladder, [first, .., last]) => vec![*first, *last],
        _ => all,
    }
}

/// How long a block of a phase is scored.
#[must_use]
pub fn score_ms(record: &RunRecord, phase: Phase) -> u32 {
    match (phase, &record.study.latency) {
        (Phase::Latency, Some(latency)) => latency.score_ms,
        _ => record.study.design.score_ms,
    }
}

/// The open-loop rate that all arms in open loop are offered: the study's share of what the slowest
/// of them carried in closed loop, by its median block, or the rate that it names. `None` where one of them
/// answered nothing.
#[must_use]
pub fn common_rate_rps(record: &RunRecord, saved: &[BlockRecord]) -> Option<f64> {
    let latency = record.study.latency.as_ref();
    if let Some(rate_rps) = latency.and_then(|latency| latency.rate_rps) {
        return Some(rate_rps);
    }
    let share = latency.map_or(1.0, |latency| latency.rate_share);
    let mut slowest = f64::INFINITY;
    for arm in in_open_loop(&record.study, &record.arms) {
        let capacity_rps = median_throughput_rps(saved, &record.arms[arm].name)?;
        slowest = slowest.min(capacity_rps);
    }
    (slowest > 0.0 && slowest.is_finite()).then_some(slowest * share)
}

fn median_throughput_rps(saved: &[BlockRecord], arm: &str) -> Option<f64> {
    let closed = saved
        .iter()
        .filter(|block| block.phase == Phase::Throughput && block.arm == arm);
    let mut rates: Vec<f64> = closed.map(|block| block.reading.throughput_rps()).collect();
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied()
}
