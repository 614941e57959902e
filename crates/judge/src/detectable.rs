//! The smallest effect that a given number of pairs can show.

use crate::{fewest_pairs, median, student};

/// Chance of finding an effect that is there.
const POWER: f64 = 0.8;
/// How much wider the signed-rank interval is than the t interval of normal differences:
/// 1/√(3/π) = 1.023, and the rest for the steps between its attainable levels.
const SIGNED_RANK_COST: f64 = 1.05;

/// The smallest effect, as a share, that `n` pairs with such differences find with 80 % power at
/// two-sided error `alpha`. `None` with fewer than two differences, where all are the same, or with
/// fewer pairs than a verdict takes.
pub fn smallest_visible(differences: &[f64], n: u32, alpha: f64) -> Option<f64> {
    if n < fewest_pairs(alpha) {
        return None;
    }
    let log_ratio = distance_in_sigmas(alpha) * sigma(differences)? / f64::from(n).sqrt();
    let effect = log_ratio.exp_m1();
    effect.is_finite().then_some(effect)
}

/// The robust standard deviation. It is 0 where more than half of the differences are the same, as
/// for a metric that comes in steps; then the ordinary one about the most common value is used.
fn sigma(differences: &[f64]) -> Option<f64> {
    let robust = median::robust_sigma(differences)?;
    if robust > 0.0 {
        return Some(robust);
    }
    let centre = median::of(differences)?;
    let squares: f64 = differences.iter().map(|d| (d - centre).powi(2)).sum();
    (squares > 0.0).then(|| (squares / (differences.len() as f64 - 1.0)).sqrt())
}

/// How many standard errors an effect must be away from 0: the test's bound, and the power's.
fn distance_in_sigmas(alpha: f64) -> f64 {
    let normal = |alpha| student::two_sided_quantile(alpha, f64::INFINITY);
    // The power is one-sided.
    SIGNED_RANK_COST * (normal(alpha) + normal(2.0 * (1.0 - POWER)))
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
    fn with_eight_percent_of_noise_some_sixty_pairs_see_three_percent() {
        let visible = |n| smallest_visible(&eight_percent(), n, 0.05).unwrap();
        assert!(
            visible(60) > 0.03 && visible(66) < 0.03,
            "{} {}",
            visible(60),
            visible(66)
        );
    }

    #[test]
    fn a_metric_that_comes_in_steps_is_seen_by_the_pairs_that_differ() {
        let mut differences = [0.0; 16];
        differences[..6].copy_from_slice(&[0.02, -0.02, 0.02, -0.02, 0.02, -0.02]);
        let visible = smallest_visible(&differences, 16, 0.05).unwrap();
        assert!((0.005..0.02).contains(&visible), "{visible}");
    }

    #[test]
    fn without_spread_nothing_can_be_said() {
        assert_eq!(smallest_visible(&[0.1; 16], 16, 0.05), None);
        assert_eq!(smallest_visible(&[0.1], 16, 0.05), None);
    }

    #[test]
    fn pairs_too_few_for_a_verdict_see_nothing() {
        let can_see = |n, alpha| smallest_visible(&eight_percent(), n, alpha).is_some();
        assert_eq!(
            [0, 4, 9, 10].map(|n| can_see(n, 0.05)),
            [false, false, false, true]
        );
        // Ten that all agree are no success among 27 contrasts.
        assert_eq!([10, 11].map(|n| can_see(n, 0.05 / 27.0)), [false, true]);
    }
}
