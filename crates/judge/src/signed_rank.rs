//! Wilcoxon's signed-rank statistic of within-pair differences: the Hodges–Lehmann estimate, its
//! exact interval and the exact p-value.
//!
//! A fair coin draws the order within a pair. If two arms are alike, every sign is therefore fair
//! whatever the noise does: drift, neighbours and heavy tails make the interval wider, never
//! invalid.

use model::Effect;

use crate::median;

/// Differences of one comparison, prepared for estimate, interval and p-value.
#[derive(Clone, Debug, PartialEq)]
pub struct SignedRank {
    differences: Vec<f64>,
    /// (d_i + d_j) / 2 for all i ≤ j, ascending: the values at which the statistic changes.
    walsh_averages: Vec<f64>,
}

/// An interval and its actual two-sided error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
    /// At most the error that was asked for. The exception: with too few differences for it, the
    /// interval is the whole range, and this is the error of that range.
    pub alpha: f64,
}

impl SignedRank {
    /// Prepares differences; `None` without any, or where one of them is not finite.
    pub fn of(differences: &[f64]) -> Option<Self> {
        let usable = !differences.is_empty() && differences.iter().all(|d| d.is_finite());
        usable.then(|| Self {
            differences: differences.to_vec(),
            walsh_averages: walsh_averages(differences),
        })
    }

    /// The Hodges–Lehmann estimate: the median of the Walsh averages.
    pub fn estimate(&self) -> f64 {
        median::of_sorted(&self.walsh_averages)
    }

    /// The interval of all centres that the two-sided test at `alpha` does not reject.
    ///
    /// With `k` the largest rank for which P(W+ ≤ k − 1) ≤ alpha/2, it runs from the k-th smallest
    /// to the k-th largest Walsh average. With ties or zeros among the differences it covers more
    /// often than promised, never less, because its ends belong to it.
    pub fn interval(&self, alpha: f64) -> Interval {
        let n = self.differences.len();
        let rank = critical_rank(n, alpha);
        let last = self.walsh_averages.len() - 1;
        let from_end = rank.saturating_sub(1);
        Interval {
            low: self.walsh_averages[from_end],
            high: self.walsh_averages[last - from_end],
            alpha: if rank == 0 { error_of_range(n) } else { alpha },
        }
    }

    /// The exact two-sided p-value of "the centre is zero".
    ///
    /// Zeros are left out and ties share their mean rank, as Wilcoxon did. The distribution is that
    /// of these very ranks under fair signs, so it stays exact with ties. 1 where only zeros are
    /// left.
    pub fn p_value(&self) -> f64 {
        let nonzero: Vec<f64> = self
            .differences
            .iter()
            .copied()
            .filter(|d| *d != 0.0)
            .collect();
        let ranks = doubled_midranks(&nonzero);
        let positive: usize = ranks
            .iter()
            .zip(&nonzero)
            .filter_map(|(rank, d)| (*d > 0.0).then_some(*rank))
            .sum();
        let total: usize = ranks.iter().sum();
        let smaller = positive.min(total - positive);
        let tail: f64 = distribution(&ranks, smaller).iter().sum();
        (2.0 * tail).min(1.0)
    }

    /// The effect as a ratio: differences are logarithms of arm ÷ reference.
    pub fn effect(&self, alpha: f64) -> Effect {
        let interval = self.interval(alpha);
        Effect {
            ratio: self.estimate().exp(),
            low: interval.low.exp(),
            high: interval.high.exp(),
            n: crate::count(self.differences.len()),
            alpha: interval.alpha,
            p_value: self.p_value(),
        }
    }
}

/// The effect in log ratios, or `None` without usable pairs; see [`SignedRank::effect`].
pub fn effect(log_ratios: &[f64], alpha: f64) -> Option<Effect> {
    Some(SignedRank::of(log_ratios)?.effect(alpha))
}

/// The largest `k` with P(W+ ≤ k − 1) ≤ alpha/2 for `n` untied differences; 0 where there is none.
pub fn critical_rank(n: usize, alpha: f64) -> usize {
    let ranks: Vec<usize> = (1..=n).collect();
    let mut below = 0.0;
    // At least half of the probability lies at or below half of the largest sum, so no tail
    // reaches further.
    distribution(&ranks, n * (n + 1) / 4)
        .iter()
        .take_while(|probability| {
            below += **probability;
            below <= alpha / 2.0
        })
        .count()
}

/// Probability of each sum of the positive ranks, from 0 to `up_to`, when signs are fair.
///
/// Each rank joins the sum with probability one half. Halving is exact in binary, so up to 53 ranks
/// every value is exact; beyond that only the last bits may be wrong.
fn distribution(ranks: &[usize], up_to: usize) -> Vec<f64> {
    let mut probabilities = vec![0.0; up_to + 1];
    probabilities[0] = 1.0;
    // Largest sum that is possible so far.
    let mut largest = 0;
    for rank in ranks {
        largest = up_to.min(largest + rank);
        for sum in (*rank..=largest).rev() {
            probabilities[sum] = 0.5 * (probabilities[sum] + probabilities[sum - rank]);
        }
        for probability in probabilities.iter_mut().take(*rank) {
            *probability *= 0.5;
        }
    }
    probabilities
}

/// Two-sided error of the range of all Walsh averages: the chance that all signs are alike, either
/// way.
fn error_of_range(n: usize) -> f64 {
    2.0 * 0.5_f64.powi(i32::try_from(n).unwrap_or(i32::MAX))
}

fn walsh_averages(differences: &[f64]) -> Vec<f64> {
    let mut averages: Vec<f64> = differences
        .iter()
        .enumerate()
        .flat_map(|(index, first)| {
            differences[index..]
                .iter()
                .map(move |second| f64::midpoint(*first, *second))
        })
        .collect();
    averages.sort_unstable_by(f64::total_cmp);
    averages
}

/// Twice the rank of each difference by size; ties share their mean rank. Doubling makes a mean of
/// two neighbouring ranks a whole number.
fn doubled_midranks(differences: &[f64]) -> Vec<usize> {
    differences
        .iter()
        .map(|d| {
            let smaller = differences.iter().filter(|o| o.abs() < d.abs()).count();
            let alike = differences.iter().filter(|o| o.abs() == d.abs()).count();
            2 * smaller + alike + 1
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_critical_ranks_are_those_of_the_printed_tables() {
        // Two-sided critical values of W at 0.05 and 0.01; ours is one more than the table's.
        for (n, alpha, rank) in [(10, 0.05, 9), (10, 0.01, 4), (16, 0.05, 30), (25, 0.05, 90)] {
            assert_eq!(critical_rank(n, alpha), rank, "n {n}, alpha {alpha}");
        }
    }

    #[test]
    fn the_probabilities_of_sixty_pairs_add_up_to_one_and_are_symmetric() {
        let ranks: Vec<usize> = (1..=60).collect();
        let probabilities = distribution(&ranks, 60 * 61 / 2);
        assert!((probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let mirrored: Vec<f64> = probabilities.iter().rev().copied().collect();
        assert_eq!(probabilities, mirrored);
    }

    #[test]
    fn the_interval_leaves_out_zero_exactly_when_the_p_value_is_within_alpha() {
        for shift in 0..40 {
            let differences: Vec<f64> = (0..12)
                .map(|i| f64::from((i * 37) % 41) / 10.0 - f64::from(shift) / 10.0 - 0.013)
                .collect();
            let test = SignedRank::of(&differences).unwrap();
            let interval = test.interval(0.05);
            let clear = interval.low > 0.0 || interval.high < 0.0;
            assert_eq!(clear, test.p_value() <= 0.05, "shift {shift}");
        }
    }

    #[test]
    fn four_pairs_give_their_whole_range_and_say_what_it_is_worth() {
        let interval = SignedRank::of(&[1.0, 2.0, 3.0, 5.0])
            .unwrap()
            .interval(0.05);
        assert_eq!((interval.low, interval.high), (1.0, 5.0));
        assert_eq!(interval.alpha, 0.125);
    }

    #[test]
    fn tied_differences_widen_the_interval_to_a_point_that_covers_and_keep_p_exact() {
        let alike = SignedRank::of(&[0.5; 10]).unwrap();
        assert_eq!(
            (alike.interval(0.05).low, alike.interval(0.05).high),
            (0.5, 0.5)
        );
        assert_eq!(alike.p_value(), 2.0 / 1024.0);
    }

    #[test]
    fn pairs_without_any_difference_give_a_p_value_of_one() {
        assert_eq!(SignedRank::of(&[0.0; 10]).unwrap().p_value(), 1.0);
    }

    #[test]
    fn no_differences_or_broken_ones_give_nothing() {
        assert_eq!(SignedRank::of(&[]), None);
        assert_eq!(SignedRank::of(&[0.1, f64::NAN]), None);
        assert_eq!(SignedRank::of(&[f64::NEG_INFINITY]), None);
    }
}
