//! Medians, their spread, and the order-statistic interval of a median.

use model::Estimate;

/// Makes the MAD of normal values their standard deviation: 1 / Φ⁻¹(3/4).
const MAD_TO_SIGMA: f64 = 1.4826;

/// The median; `None` without values.
pub fn of(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| of_sorted(&sorted(values)))
}

/// 1.4826 × the median distance from the median: a standard deviation that outliers do not move.
/// `None` with fewer than two values.
pub fn robust_sigma(values: &[f64]) -> Option<f64> {
    let centre = of(values)?;
    let distances: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    (values.len() > 1).then(|| MAD_TO_SIGMA * of_sorted(&sorted(&distances)))
}

/// The median with its order-statistic interval at two-sided error `alpha`.
///
/// The ends are the k-th smallest and k-th largest value, with the largest `k` for which
/// P(Bin(n, ½) ≤ k − 1) ≤ alpha/2. With five values or fewer no such `k` exists at 5 %: then the
/// interval is their whole range. `None` without values.
pub fn estimate(values: &[f64], alpha: f64) -> Option<Estimate> {
    let values = sorted(values);
    let last = values.len().checked_sub(1)?;
    let from_end = critical_rank(values.len(), alpha).saturating_sub(1);
    Some(Estimate {
        value: of_sorted(&values),
        low: values[from_end],
        high: values[last - from_end],
        n: crate::count(values.len()),
    })
}

/// The quantile `q` (0 to 1), between two values in proportion; `None` without values.
#[expect(clippy::cast_possible_truncation, reason = "indices below the length")]
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let values = sorted(values);
    let place = q.clamp(0.0, 1.0) * values.len().checked_sub(1)? as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    let way = place - place.floor();
    Some(values[below] + (values[above] - values[below]) * way)
}

/// The median of values that are in ascending order and not empty.
pub(crate) fn of_sorted(values: &[f64]) -> f64 {
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        f64::midpoint(values[middle - 1], values[middle])
    }
}

/// The largest `k` with P(Bin(n, ½) ≤ k − 1) ≤ alpha/2; 0 where there is none.
fn critical_rank(n: usize, alpha: f64) -> usize {
    let mut probability = 0.5_f64.powi(i32::try_from(n).unwrap_or(i32::MAX));
    let mut below = 0.0;
    (0..n)
        .take_while(|successes| {
            below += probability;
            probability *= (n - successes) as f64 / (successes + 1) as f64;
            below <= alpha / 2.0
        })
        .count()
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_unstable_by(f64::total_cmp);
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_values_give_the_fourth_from_either_end() {
        let values: Vec<f64> = (1..=16).map(f64::from).collect();
        let found = estimate(&values, 0.05).unwrap();
        assert_eq!((found.value, found.low, found.high), (8.5, 4.0, 13.0));
    }

    #[test]
    fn five_values_give_their_whole_range_and_six_are_the_first_to_be_enough() {
        let five = estimate(&[5.0, 1.0, 2.0, 4.0, 3.0], 0.05).unwrap();
        assert_eq!((five.low, five.high), (1.0, 5.0));
        assert_eq!((critical_rank(5, 0.05), critical_rank(6, 0.05)), (0, 1));
    }

    #[test]
    fn one_wild_value_does_not_move_the_robust_spread() {
        let calm = [1.0, 2.0, 3.0, 4.0, 5.0];
        let wild = [1.0, 2.0, 3.0, 4.0, 5000.0];
        assert_eq!(robust_sigma(&calm), robust_sigma(&wild));
        assert_eq!(robust_sigma(&calm), Some(1.4826));
    }

    #[test]
    fn a_quantile_lies_between_two_values_in_proportion() {
        let values: Vec<f64> = (0..=10).rev().map(f64::from).collect();
        assert_eq!(quantile(&values, 0.1), Some(1.0));
        assert_eq!(quantile(&[1.0, 2.0], 0.9), Some(1.9));
        assert_eq!(
            (quantile(&[3.0], 0.5), quantile(&[], 0.5)),
            (Some(3.0), None)
        );
    }

    #[test]
    fn nothing_has_no_median_and_one_value_no_spread() {
        assert_eq!((of(&[]), estimate(&[], 0.05)), (None, None));
        assert_eq!((of(&[7.0]), robust_sigma(&[7.0])), (Some(7.0), None));
    }
}
