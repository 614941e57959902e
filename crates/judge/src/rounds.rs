//! The blocks of a phase, and the values of their metrics.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use model::run::Phase;
use model::{Arm, BlockRecord};

use crate::count;
use crate::metric::Metric;
use crate::values::{Measured, Values};

/// The blocks of one phase of a run. A round in which a run was stopped and later resumed has two
/// epochs, with restarted servers or another boot: blocks of different epochs are no pair.
#[derive(Debug)]
pub(crate) struct Rounds<'a> {
    blocks: Vec<&'a BlockRecord>,
    /// In the order of [`Metric::ALL`].
    values: [Values<'a>; 4],
}

impl<'a> Rounds<'a> {
    /// Blocks of the closed loop, by which every arm is judged.
    pub(crate) fn of(blocks: &'a [BlockRecord]) -> Self {
        Self::of_phase(blocks, Phase::Throughput)
    }

    pub(crate) fn of_phase(blocks: &'a [BlockRecord], phase: Phase) -> Self {
        Self::new(blocks.iter().filter(|block| block.phase == phase))
    }

    /// The blocks of these rounds alone.
    pub(crate) fn within(&self, rounds: &Range<u32>) -> Self {
        let blocks = self.blocks.iter().copied();
        Self::new(blocks.filter(|block| rounds.contains(&block.round)))
    }

    fn new(blocks: impl Iterator<Item = &'a BlockRecord>) -> Self {
        let blocks: Vec<&BlockRecord> = blocks.collect();
        let values = Metric::ALL.map(|metric| Values::of(measured(&blocks, metric)));
        Self { blocks, values }
    }

    /// All blocks, in the order in which they were measured.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = &'a BlockRecord> + '_ {
        self.blocks.iter().copied()
    }

    pub(crate) fn blocks_of(&self, arm: &str) -> impl Iterator<Item = &'a BlockRecord> {
        self.blocks().filter(move |block| block.arm == arm)
    }

    pub(crate) fn values(&self, metric: Metric) -> &Values<'a> {
        &self.values[metric as usize]
    }

    /// Number of rounds in which every arm has its block, in one epoch or in several.
    pub(crate) fn complete(&self, arms: &[Arm]) -> u32 {
        let mut measured: BTreeMap<u32, BTreeSet<&str>> = BTreeMap::new();
        for block in &self.blocks {
            measured.entry(block.round).or_default().insert(&block.arm);
        }
        let is_complete =
            |arms_of: &&BTreeSet<&str>| arms.iter().all(|arm| arms_of.contains(arm.name.as_str()));
        count(measured.values().filter(is_complete).count())
    }
}

fn measured<'a>(blocks: &[&'a BlockRecord], metric: Metric) -> impl Iterator<Item = Measured<'a>> {
    blocks.iter().filter_map(move |block| {
        Some(Measured {
            arm: &block.arm,
            turn: (block.round, block.epoch),
            position: block.position,
            value: metric.of(&block.reading)?,
        })
    })
}
