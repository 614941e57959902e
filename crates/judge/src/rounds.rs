//! The blocks of a phase by round, and the pairs among them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use model::run::Phase;
use model::{Arm, BlockRecord};

use crate::factorial::{Measured, Turn, Values};
use crate::metric::Metric;

/// The blocks of one phase of a run: round and epoch, then arm. A round in which a run was stopped
/// and went on later has two epochs, of servers that were started anew or of another boot: blocks of
/// different ones are no pair.
#[derive(Debug)]
pub(crate) struct Rounds<'a> {
    by_turn: BTreeMap<Turn, BTreeMap<&'a str, &'a BlockRecord>>,
}

impl<'a> Rounds<'a> {
    /// Those of the closed loop, by which every arm is judged.
    pub(crate) fn of(blocks: &'a [BlockRecord]) -> Self {
        Self::of_phase(blocks, Phase::Throughput)
    }

    pub(crate) fn of_phase(blocks: &'a [BlockRecord], phase: Phase) -> Self {
        let mut by_turn: BTreeMap<Turn, BTreeMap<&str, &BlockRecord>> = BTreeMap::new();
        for block in blocks.iter().filter(|block| block.phase == phase) {
            by_turn
                .entry((block.round, block.epoch))
                .or_default()
                .insert(&block.arm, block);
        }
        Self { by_turn }
    }

    /// Those of some rounds.
    pub(crate) fn within(&self, rounds: &Range<u32>) -> Self {
        let within = self.by_turn.range((rounds.start, 0)..(rounds.end, 0));
        Self {
            by_turn: within.map(|(turn, arms)| (*turn, arms.clone())).collect(),
        }
    }

    /// All blocks, by round.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = &'a BlockRecord> + '_ {
        self.by_turn
            .values()
            .flat_map(|arms| arms.values().copied())
    }

    /// The blocks of one arm, by round.
    pub(crate) fn blocks_of(&self, arm: &str) -> impl Iterator<Item = &'a BlockRecord> {
        self.by_turn
            .values()
            .filter_map(move |arms| arms.get(arm).copied())
    }

    /// A metric's values in the blocks of one arm, by round.
    pub(crate) fn values(&self, arm: &str, metric: Metric) -> Vec<f64> {
        self.blocks_of(arm)
            .filter_map(|block| metric.of(&block.reading))
            .collect()
    }

    /// A metric's values by arm and round, for contrasts of more than two arms.
    pub(crate) fn all_values(&self, metric: Metric) -> Values<'a> {
        Values::of(self.blocks().filter_map(|block| {
            Some(Measured {
                arm: &block.arm,
                turn: (block.round, block.epoch),
                position: block.position,
                value: metric.of(&block.reading)?,
            })
        }))
    }

    /// Log ratios of arm ÷ against in the rounds in which both have a value, in one epoch.
    pub(crate) fn log_ratios(&self, arm: &str, against: &str, metric: Metric) -> Vec<f64> {
        self.by_turn
            .values()
            .filter_map(|arms| {
                let value = |name| metric.of(&arms.get(name)?.reading);
                Some((value(arm)? / value(against)?).ln())
            })
            .collect()
    }

    /// A metric's values in all blocks of some arms, in the order in which they were measured:
    /// round and place in it, because clocks start anew when a run is resumed.
    pub(crate) fn in_time_order(&self, arms: &[&str], metric: Metric) -> Vec<f64> {
        let mut blocks: Vec<&BlockRecord> = self
            .blocks()
            .filter(|block| arms.contains(&block.arm.as_str()))
            .collect();
        blocks.sort_by_key(|block| (block.round, block.position));
        blocks
            .iter()
            .filter_map(|block| metric.of(&block.reading))
            .collect()
    }

    /// Rounds in which every arm has its block, in one epoch or in several.
    pub(crate) fn complete(&self, arms: &[Arm]) -> u32 {
        let mut measured: BTreeMap<u32, BTreeSet<&str>> = BTreeMap::new();
        for ((round, _), blocks) in &self.by_turn {
            measured.entry(*round).or_default().extend(blocks.keys());
        }
        let is_complete =
            |arms_of: &&BTreeSet<&str>| arms.iter().all(|arm| arms_of.contains(arm.name.as_str()));
        let complete = measured.values().filter(is_complete).count();
        u32::try_from(complete).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Reading;

    fn block(round: u32, position: u32, arm: &str, answered: u64) -> BlockRecord {
        BlockRecord {
            phase: Phase::Throughput,
            epoch: 0,
            round,
            position,
            arm: arm.to_owned(),
            at_ms: 0,
            reading: Reading {
                window_ns: 1_000_000_000,
                answered,
                ..Reading::default()
            },
        }
    }

    #[test]
    fn time_order_is_that_of_places_in_the_round_and_not_of_names_or_lines() {
        let blocks = [
            block(1, 0, "a", 3),
            block(0, 1, "a", 2),
            block(1, 1, "b", 4),
            block(0, 0, "b", 1),
            block(1, 2, "c", 9),
        ];
        let found = Rounds::of(&blocks).in_time_order(&["a", "b"], Metric::Throughput);
        assert_eq!(found, [1.0, 2.0, 3.0, 4.0]);
    }
}
