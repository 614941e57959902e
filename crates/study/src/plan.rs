//! What a run still has to measure. All functions here are pure, so that a resumed run continues
//! exactly as planned.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use judge::capacity::{BLOCKS_AT_MOST, OFFERED};
use model::bench::SavedBench;
use model::command_run::Measured;
use model::load_run::{LoadWorkload, SavedLoad};
use model::run::Confirmation;
use model::run::Phase;
use model::study::{Arm, DesignKind, Role};
use model::{BlockRecord, CommandReading, CommandRun, Reading, RunRecord, Study};

use crate::order;

/// A block that is planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    pub phase: Phase,
    pub round: u32,
    /// Place within the round, from 0.
    pub position: u32,
    /// Index into the arms of its phase.
    pub arm: usize,
    /// Name of that arm.
    pub name: String,
}

impl Planned {
    /// Key of this block, equal to that of the saved block that it becomes.
    pub(crate) fn key(&self) -> (Phase, u32, &str) {
        (self.phase, self.round, &self.name)
    }
}

/// Returns the epoch of the blocks that follow these.
pub(crate) fn next_epoch<R>(saved: &[BlockRecord<R>]) -> u32 {
    saved.iter().map(|block| block.epoch + 1).max().unwrap_or(0)
}

/// Rounds of one phase of a run; every arm occurs once in each.
#[derive(Clone, Debug)]
pub struct Rounds<'a> {
    phase: Phase,
    /// Index of each arm in the arms of the phase, with its name.
    arms: Vec<(usize, &'a str)>,
    rounds: Range<u32>,
    seed: u64,
}

impl<'a> Rounds<'a> {
    /// The first `rounds` rounds of all arms.
    fn of(phase: Phase, names: impl Iterator<Item = &'a String>, rounds: u32, seed: u64) -> Self {
        Self {
            phase,
            arms: names.map(String::as_str).enumerate().collect(),
            rounds: 0..rounds,
            seed,
        }
    }

    /// Returns the blocks of the rounds that are not saved yet, with the arms of each round in
    /// random order. If a stop interrupted a round, the whole round is measured again, because
    /// blocks of different epochs make no pair.
    pub fn remaining<R>(&self, saved: &[BlockRecord<R>]) -> Vec<Planned> {
        let done = self.whole(saved);
        let orders = order::rounds(self.arms.len(), self.rounds.end, self.seed);
        let orders = (0..).zip(orders);
        let left = orders.filter(|(round, _)| self.rounds.contains(round) && !done.contains(round));
        let blocks = left.flat_map(|(round, order)| {
            let places = (0..).zip(order);
            places.map(move |(position, at)| (round, position, self.arms[at]))
        });
        blocks
            .map(|(round, position, (arm, name))| Planned {
                phase: self.phase,
                round,
                position,
                arm,
                name: name.to_owned(),
            })
            .collect()
    }

    /// Returns the rounds in which every arm is saved. An interrupted round starts again with its
    /// first arm, so its last arm is saved only in the epoch of all others.
    fn whole<R>(&self, saved: &[BlockRecord<R>]) -> HashSet<u32> {
        let mut arms_of: HashMap<u32, HashSet<&str>> = HashMap::new();
        for block in saved.iter().filter(|block| block.phase == self.phase) {
            arms_of.entry(block.round).or_default().insert(&block.arm);
        }
        let is_whole = |arms: &HashSet<&str>| self.arms.iter().all(|(_, name)| arms.contains(name));
        let whole = arms_of.iter().filter(|(_, arms)| is_whole(arms));
        whole.map(|(round, _)| *round).collect()
    }
}

/// A run, which knows its whole plan from the start.
pub trait Design {
    type Reading;

    /// Returns the rounds of its phases, given the blocks that are saved.
    fn rounds(&self, saved: &[BlockRecord<Self::Reading>]) -> Vec<Rounds<'_>>;

    /// Returns the planned blocks that are not saved yet, in order.
    fn remaining(&self, saved: &[BlockRecord<Self::Reading>]) -> Vec<Planned> {
        let rounds = self.rounds(saved);
        let remaining = rounds.iter().flat_map(|rounds| rounds.remaining(saved));
        remaining.collect()
    }
}

/// A climb or a comparison, up to the round in which a look finds it settled, then the open-loop
/// phase.
impl Design for RunRecord {
    type Reading = Reading;

    fn rounds(&self, saved: &[BlockRecord]) -> Vec<Rounds<'_>> {
        let most = judge::settled_rounds(self, saved).unwrap_or(self.study.design.rounds);
        let climb = Rounds::of(Phase::Throughput, names(&self.arms), most, self.seed);
        let latency = self.study.latency.as_ref().map(|latency| {
            let arms = in_open_loop(&self.study, &self.arms).into_iter();
            Rounds {
                phase: Phase::Latency,
                arms: arms.map(|at| (at, self.arms[at].name.as_str())).collect(),
                rounds: 0..latency.blocks,
                seed: other_seed(self, 1),
            }
        });
        [climb].into_iter().chain(latency).collect()
    }
}

impl Design for CommandRun {
    type Reading = Measured;

    fn rounds(&self, _saved: &[BlockRecord<Measured>]) -> Vec<Rounds<'_>> {
        let names = self.arms.iter().map(|arm| &arm.name);
        let rounds = self.study.design.rounds;
        vec![Rounds::of(Phase::Command, names, rounds, self.seed)]
    }
}

/// The most rounds there may be, until their number is settled.
impl Design for SavedBench {
    type Reading = CommandReading;

    fn rounds(&self, _saved: &[BlockRecord<CommandReading>]) -> Vec<Rounds<'_>> {
        let names = self.arms.iter().map(|command| &command.arm.name);
        let rounds = self.study.rounds_planned.unwrap_or(self.study.rounds.most);
        vec![Rounds::of(Phase::Command, names, rounds, self.seed)]
    }
}

/// The levels of a sweep; for a search, the most blocks that it may need, because it finds its
/// rates as it goes.
impl Design for SavedLoad {
    type Reading = Reading;

    fn rounds(&self, _saved: &[BlockRecord]) -> Vec<Rounds<'_>> {
        vec![match self.study.workload {
            LoadWorkload::Sweep { rounds, .. } => {
                let names = self.arms.iter().map(|level| &level.name);
                Rounds::of(Phase::Level, names, rounds, self.seed)
            }
            LoadWorkload::Capacity { .. } => Rounds {
                phase: Phase::Search,
                arms: vec![(0, OFFERED)],
                rounds: 0..BLOCKS_AT_MOST,
                seed: self.seed,
            },
        }]
    }
}

/// The rounds that confirm a ladder's last state.
pub fn confirming<'a>(record: &RunRecord, confirmation: &'a Confirmation) -> Rounds<'a> {
    let whole = record.study.whole.as_ref();
    let rounds = whole.map_or(0, |whole| whole.confirm_rounds);
    let names = names(&confirmation.arms);
    Rounds::of(Phase::Confirmation, names, rounds, other_seed(record, 2))
}

/// The rounds of the last state in a boot, given by its index among the boots of the run; `None` if
/// the run has no such boot.
pub fn in_boot(record: &RunRecord, boot: usize) -> Option<Rounds<'_>> {
    let reboot = record.reboot.as_ref()?;
    let rounds = reboot.rounds_of(boot);
    let seed = other_seed(record, 3);
    Some(Rounds {
        rounds: rounds.clone(),
        ..Rounds::of(Phase::Boot, names(&reboot.arms), rounds.end, seed)
    })
}

fn names(arms: &[Arm]) -> impl Iterator<Item = &String> {
    arms.iter().map(|arm| &arm.name)
}

/// Returns a seed that differs from that of the rounds, so that not all phases are shuffled alike.
fn other_seed(record: &RunRecord, phase: u64) -> u64 {
    record.seed.wrapping_add(phase << 32)
}

/// Indices of the arms whose latency is measured: both ends of a ladder, or all compared arms but
/// control and floor.
fn in_open_loop(study: &Study, arms: &[Arm]) -> Vec<usize> {
    let is_compared = |at: &usize| matches!(arms[*at].role, Role::Baseline | Role::Step);
    let all: Vec<usize> = (0..arms.len()).filter(is_compared).collect();
    match (study.design.kind, all.as_slice()) {
        (DesignKind::Ladder, [first, .., last]) => vec![*first, *last],
        _ => all,
    }
}

/// Length of the scored window of a block in a phase, ms.
pub fn score_ms(record: &RunRecord, phase: Phase) -> u32 {
    match (phase, &record.study.latency) {
        (Phase::Latency, Some(latency)) => latency.score_ms,
        _ => record.study.design.score_ms,
    }
}

/// The rate that all arms in open loop are offered: the rate that the study names, or else its
/// share of what the slowest of them carried in closed loop, in its median block. `None` if one of
/// them answered nothing.
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
    rates.sort_unstable_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied()
}
