//! The smallest effect that so many pairs can see, and the pairs that an effect needs.

use crate::{median, normal};

/// Chance of finding an effect that is there.
const POWER: f64 = 0.8;
/// What the signed-rank interval needs over the t interval of normal differences:
/// 1/√(3/π) = 1.023, and the rest for the steps between its attainable levels.
const SIGNED_RANK_COST: f64 = 1.05;

/// The smallest effect, as a share, that `n` pairs with such differences find with 80 % power at
/// two-sided error `alpha`. `None` with fewer than two differences or without pairs.
#[must_use]
pub fn smallest_visible(differences: &[f64], n: u32, alpha: f64) -> Option<f64> {
    smallest_visible_at(median::robust_sigma(differences)?, n, alpha)
}

/// As [`smallest_visible`], from a known or guessed standard deviation of the log ratios of pairs.
#[must_use]
pub fn smallest_visible_at(sigma: f64, n: u32, alpha: f64) -> Option<f64> {
    let log_ratio = distance_in_sigmas(alpha) * sigma / f64::from(n).sqrt();
    let effect = log_ratio.exp_m1();
    effect.is_finite().then_some(effect)
}

/// The pairs after which an effect, as a share, is found with 80 % power. `None` where it can
/// never be: no spread is known, or the effect is none.
#[must_use]
pub fn pairs_needed(differences: &[f64], effect: f64, alpha: f64) -> Option<u32> {
    let sigma = median::robust_sigma(differences)?;
    let ratio = distance_in_sigmas(alpha) * sigma / effect.ln_1p();
    // A whole number of pairs that is missed by a rounding error stays that number.
    let pairs = (ratio * ratio - 1e-9).ceil();
    (pairs.is_finite() && pairs <= f64::from(u32::MAX)).then_some(pairs as u32)
}

/// How many standard errors an effect must be away from none: the test's bound, and the power's.
fn distance_in_sigmas(alpha: f64) -> f64 {
    SIGNED_RANK_COST * (normal::quantile(1.0 - alpha / 2.0) + normal::quantile(POWER))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Differences with a robust standard deviation of 8 %.
    fn eight_percent() -> [f64; 3] {
        let mad = 0.08 / 1.4826;
        [-mad, 0.0, mad]
    }

    #[test]
    fn eight_percent_of_noise_needs_some_sixty_pairs_to_see_three_percent() {
        let pairs = pairs_needed(&eight_percent(), 0.03, 0.05).unwrap();
        assert!((60..=66).contains(&pairs), "{pairs}");
    }

    #[test]
    fn the_pairs_needed_for_the_smallest_visible_effect_are_the_pairs_there_are() {
        let visible = smallest_visible(&eight_percent(), 40, 0.05).unwrap();
        assert_eq!(pairs_needed(&eight_percent(), visible, 0.05), Some(40));
    }

    #[test]
    fn without_pairs_or_spread_nothing_can_be_said() {
        assert_eq!(smallest_visible(&[0.1], 16, 0.05), None);
        assert_eq!(smallest_visible(&eight_percent(), 0, 0.05), None);
        assert_eq!(pairs_needed(&eight_percent(), 0.0, 0.05), None);
    }
}
