//! The blocks of a phase by round, and the pairs among them.

use std::collections::BTreeMap;
use std::ops::Range;

use model::run::Phase;
use model::{Arm, BlockRecord};

use crate::factorial::{Measured, Values};
use crate::metric::Metric;

/// The blocks of one phase of a run: round, then arm.
#[derive(Debug)]
pub(crate) struct Rounds<'a> {
    by_round: BTreeMap<u32, BTreeMap<&'a str, &'a BlockRecord>>,
}

impl<'a> Rounds<'a> {
    /// Those of the closed loop, by which every arm is judged.
    pub(crate) fn of(blocks: &'a [BlockRecord]) -> Self {
        Self::of_phase(blocks, Phase::Throughput)
    }

    pub(crate) fn of_phase(blocks: &'a [BlockRecord], phase: Phase) -> Self {
        let mut by_round: BTreeMap<u32, BTreeMap<&str, &BlockRecord>> = BTreeMap::new();
        for block in blocks.iter().filter(|block| block.phase == phase) {
            by_round
                .entry(block.round)
                .or_default()
                .insert(&block.arm, block);
        }
        Self { by_round }
    }

    /// Those of some rounds.
    pub(crate) fn within(&self, rounds: &Range<u32>) -> Self {
        let within = self.by_round.range(rounds.clone());
        Self {
            by_round: within.map(|(round, arms)| (*round, arms.clone())).collect(),
        }
    }

    /// All blocks, by round.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = &'a BlockRecord> + '_ {
        self.by_round
            .values()
            .flat_map(|round| round.values().copied())
    }

    /// The blocks of one arm, by round.
    pub(crate) fn blocks_of(&self, arm: &str) -> impl Iterator<Item = &'a BlockRecord> {
        self.by_round
            .values()
            .filter_map(move |round| round.get(arm).copied())
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
                round: block.round,
                position: block.position,
                value: metric.of(&block.reading)?,
            })
        }))
    }

    /// Log ratios of arm ÷ against in the rounds in which both have a value.
    pub(crate) fn log_ratios(&self, arm: &str, against: &str, metric: Metric) -> Vec<f64> {
        self.by_round
            .values()
            .filter_map(|round| {
                let value = |name| metric.of(&round.get(name)?.reading);
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

    /// Rounds in which every arm has its block.
    pub(crate) fn complete(&self, arms: &[Arm]) -> u32 {
        let complete = self
            .by_round
            .values()
            .filter(|round| arms.iter().all(|arm| round.contains_key(arm.name.as_str())))
            .count();
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
