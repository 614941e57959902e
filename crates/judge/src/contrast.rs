//! A contrast: logarithms of one round's values, added up with weights that cancel.
//!
//! A level against another, both factors against each alone, a mean over benchmarks: each is a
//! contrast, so one statistic judges them all. What a round does to all its runs alike cancels in
//! the sum. Where the arms are alike, their order within the round is drawn by a fair die, and the
//! sum is as often above 0 as below, which is all that the signed-rank test requires.

use crate::values::{Turn, Values};

/// Arms with their weights.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Contrast<'a> {
    terms: Vec<(&'a str, f64)>,
}

impl<'a> Contrast<'a> {
    /// arm ÷ against.
    pub(crate) fn pair(arm: &'a str, against: &'a str) -> Self {
        Self {
            terms: vec![(arm, 1.0), (against, -1.0)],
        }
    }

    /// (both ÷ neither) ÷ ((first ÷ neither) × (second ÷ neither)).
    pub(crate) fn interaction(neither: &'a str, alone: [&'a str; 2], both: &'a str) -> Self {
        Self {
            terms: vec![
                (both, 1.0),
                (alone[0], -1.0),
                (alone[1], -1.0),
                (neither, 1.0),
            ],
        }
    }

    /// The geometric mean of some ratios.
    pub(crate) fn mean(of: &[Self]) -> Self {
        let share = 1.0 / of.len().max(1) as f64;
        let terms = of.iter().flat_map(|contrast| &contrast.terms);
        Self {
            terms: terms.map(|(arm, weight)| (*arm, weight * share)).collect(),
        }
    }

    pub(crate) fn arms(&self) -> impl Iterator<Item = &'a str> {
        self.terms.iter().map(|(arm, _)| *arm)
    }

    /// The logarithm of the ratio in each turn in which every arm has a value above 0.
    pub(crate) fn log_ratios(&self, values: &Values<'_>) -> Vec<f64> {
        let first = self.terms.first().map(|(arm, _)| *arm);
        let turns = first.into_iter().flat_map(|arm| values.turns_of(arm));
        turns
            .filter_map(|turn| self.in_turn(values, turn))
            .collect()
    }

    /// The logarithm of the ratio in one turn.
    pub(crate) fn in_turn(&self, values: &Values<'_>, turn: Turn) -> Option<f64> {
        let logs = self.terms.iter().map(|(arm, weight)| {
            let value = values.at(arm, turn)?;
            (value > 0.0).then(|| weight * value.ln())
        });
        logs.sum()
    }

    /// How far apart identical arms may truly lie in this contrast, as a multiple of a pair's: half
    /// the sum of the absolute weights. 1 for a pair and for a mean of pairs, 2 for an interaction.
    pub(crate) fn pairs_of_bias(&self) -> f64 {
        let sizes = self.terms.iter().map(|(_, weight)| weight.abs());
        sizes.sum::<f64>() / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::Measured;

    /// One value for each arm and round.
    fn values(rounds: &[[(&'static str, f64); 4]]) -> Values<'static> {
        let all = (0_u32..).zip(rounds).flat_map(|(round, arms)| {
            (0_u32..)
                .zip(arms)
                .map(move |(position, (arm, value))| Measured {
                    arm,
                    turn: (round, 0),
                    position,
                    value: *value,
                })
        });
        Values::of(all)
    }

    fn ratios(contrast: &Contrast<'_>, rounds: &[[(&'static str, f64); 4]]) -> Vec<f64> {
        let logs = contrast.log_ratios(&values(rounds));
        logs.iter()
            .map(|log| (log.exp() * 1e6).round() / 1e6)
            .collect()
    }

    #[test]
    fn a_pair_is_a_ratio_within_a_round_and_a_round_that_lacks_an_arm_gives_none() {
        let rounds = [
            [("a", 2.0), ("b", 8.0), ("c", 1.0), ("d", 1.0)],
            [("a", 2.0), ("x", 8.0), ("c", 1.0), ("d", 1.0)],
            [("a", 4.0), ("b", 4.0), ("c", 1.0), ("d", 1.0)],
        ];
        assert_eq!(ratios(&Contrast::pair("b", "a"), &rounds), [4.0, 1.0]);
    }

    #[test]
    fn an_interaction_is_what_both_do_beyond_the_product_of_each_alone() {
        // Alone 0.5 and 0.8; together 0.1 where 0.4 would be their product.
        let rounds = [[("neither", 10.0), ("a", 5.0), ("b", 8.0), ("both", 1.0)]];
        let contrast = Contrast::interaction("neither", ["a", "b"], "both");
        assert_eq!(ratios(&contrast, &rounds), [0.25]);
        assert_eq!(contrast.pairs_of_bias(), 2.0);
    }

    #[test]
    fn a_mean_of_ratios_is_geometric() {
        let rounds = [[("a1", 1.0), ("b1", 4.0), ("a2", 1.0), ("b2", 9.0)]];
        let pairs = [Contrast::pair("b1", "a1"), Contrast::pair("b2", "a2")];
        let mean = Contrast::mean(&pairs);
        assert_eq!(ratios(&mean, &rounds), [6.0]);
        assert_eq!(mean.pairs_of_bias(), 1.0);
    }

    #[test]
    fn a_value_of_none_has_no_ratio() {
        let rounds = [[("a", 0.0), ("b", 8.0), ("c", 1.0), ("d", 1.0)]];
        assert!(ratios(&Contrast::pair("b", "a"), &rounds).is_empty());
    }
}
