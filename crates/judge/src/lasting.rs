//! States that last. A process may be in one state for some rounds, such as on a certain CPU with
//! that CPU's other work, and then successive pairs agree. They say less than as many independent
//! pairs would.

use std::cmp::Ordering;

use model::Effect;

use crate::signed_rank::SignedRank;
use crate::student;

/// Pairs are compared at lags up to their number divided by this: beyond, too few are left to tell.
const FARTHEST: usize = 3;

/// How many times as wide the interval of pairs, in order of time, must be because neighbours are
/// alike; at least 1.
///
/// This is the root of 1 + 2 Σ ρ, the variance of the mean of a series over that of as many
/// independent values. The autocorrelations ρ are those of the signed ranks, whose sum is the test,
/// and are summed up to the first that is not positive (Geyer 1992, the initial positive sequence).
/// For independent pairs it is 1.1 on average.
pub(crate) fn widening(differences: &[f64]) -> f64 {
    let Some(centre) = SignedRank::of(differences).map(|pairs| pairs.estimate()) else {
        return 1.0;
    };
    let apart: Vec<f64> = differences.iter().map(|d| d - centre).collect();
    let ranks = signed_ranks(&apart);
    let lags = 1..=ranks.len() / FARTHEST;
    let alike = lags.map(|lag| product(&ranks, &ranks[lag..]));
    let sum: f64 = alike.take_while(|alike| *alike > 0.0).sum();
    (1.0 + 2.0 * sum / product(&ranks, &ranks).max(1.0)).sqrt()
}

/// The effect with an interval `times` times as wide on the scale of logarithms, and with the
/// p-value of `times` times less evidence.
pub(crate) fn widened(effect: Effect, times: f64) -> Effect {
    let end = |end: f64| effect.ratio * (end / effect.ratio).powf(times);
    let freedom = f64::from(effect.n.max(2) - 1);
    let evidence = student::two_sided_quantile(effect.p_value, freedom) / times;
    Effect {
        low: end(effect.low),
        high: end(effect.high),
        p_value: student::two_sided_p(evidence, freedom),
        ..effect
    }
}

fn signed_ranks(values: &[f64]) -> Vec<f64> {
    let smaller = |value: f64| {
        values
            .iter()
            .filter(|other| other.abs() < value.abs())
            .count()
    };
    let rank = |value: &f64| (smaller(*value) + 1) as f64;
    let signed = |value: &f64| match value.total_cmp(&0.0) {
        Ordering::Less => -rank(value),
        Ordering::Equal => 0.0,
        Ordering::Greater => rank(value),
    };
    values.iter().map(signed).collect()
}

fn product(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_that_agree_with_their_neighbours_widen_and_those_that_take_turns_do_not() {
        let pairs =
            |of: fn(i32) -> i32| -> Vec<f64> { (0..48).map(|at| f64::from(of(at))).collect() };
        let in_eights = pairs(|at| 10 * (at / 8 % 2) + at * 7 % 5);
        let by_turns = pairs(|at| 10 * (at % 2) + at * 7 % 5);
        assert!(widening(&in_eights) > 1.5, "{}", widening(&in_eights));
        assert_eq!(widening(&by_turns), 1.0);
        assert_eq!(widening(&[]), 1.0);
        assert_eq!(widening(&[0.1; 20]), 1.0);
    }

    #[test]
    fn a_wider_interval_keeps_its_estimate_and_agrees_with_its_p_value() {
        let effect = Effect {
            ratio: 1.1,
            low: 1.02,
            high: 1.2,
            n: 24,
            alpha: 0.05,
            p_value: 0.01,
        };
        assert!((widened(effect, 1.0).p_value - 0.01).abs() < 1e-9);
        let wide = widened(effect, 1.5);
        assert_eq!(wide.ratio, effect.ratio);
        assert!(wide.low < 1.0 && wide.high > 1.2, "{wide:?}");
        assert!(wide.p_value > 0.05 && wide.p_value < 0.15, "{wide:?}");
    }
}
