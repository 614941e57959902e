//! Welch's t-test of two independent samples. Blocks on a shared machine break its assumptions.

use crate::student;

/// The two-sided p-value of "both samples have one mean"; `None` with fewer than two values in
/// either. Samples without any spread differ for certain (0) or not at all (1).
pub fn p_value(first: &[f64], second: &[f64]) -> Option<f64> {
    let between = Between::of(first, second)?;
    let Between {
        distance, variance, ..
    } = between;
    if variance <= 0.0 {
        return Some(if distance == 0.0 { 1.0 } else { 0.0 });
    }
    let t = distance / variance.sqrt();
    Some(student::two_sided_p(t, between.freedom))
}

/// The interval of the first mean less the second at two-sided error `alpha`; `None` with fewer
/// than two values in either.
pub fn interval(first: &[f64], second: &[f64], alpha: f64) -> Option<[f64; 2]> {
    let between = Between::of(first, second)?;
    if between.variance <= 0.0 {
        return Some([between.distance; 2]);
    }
    let half = student::two_sided_quantile(alpha, between.freedom) * between.variance.sqrt();
    Some([between.distance - half, between.distance + half])
}

/// Difference of two means, and its variance.
struct Between {
    distance: f64,
    variance: f64,
    /// Degrees of freedom by Welch and Satterthwaite; NaN where there is no variance.
    freedom: f64,
}

impl Between {
    fn of(first: &[f64], second: &[f64]) -> Option<Self> {
        let (a, b) = (Moments::of(first)?, Moments::of(second)?);
        let variance = a.variance_of_mean + b.variance_of_mean;
        let weighed =
            a.variance_of_mean.powi(2) / a.freedom + b.variance_of_mean.powi(2) / b.freedom;
        Some(Self {
            distance: a.mean - b.mean,
            variance,
            freedom: variance * variance / weighed,
        })
    }
}

struct Moments {
    mean: f64,
    variance_of_mean: f64,
    freedom: f64,
}

impl Moments {
    fn of(values: &[f64]) -> Option<Self> {
        let n = values.len() as f64;
        let freedom = n - 1.0;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        (values.len() > 1).then(|| Self {
            mean,
            variance_of_mean: squares / freedom / n,
            freedom,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_without_spread_differ_for_certain_or_not_at_all() {
        assert_eq!(p_value(&[1.0; 3], &[1.0; 3]), Some(1.0));
        assert_eq!(p_value(&[1.0; 3], &[2.0; 3]), Some(0.0));
    }

    /// By hand: means 2 and 7, variances of the mean 1/3 and 4/3, 2.94 degrees of freedom.
    #[test]
    fn the_interval_is_as_wide_as_the_spread_of_both_samples_makes_it() {
        let [low, high] = interval(&[1.0, 2.0, 3.0], &[5.0, 7.0, 9.0], 0.05).unwrap_or_default();
        assert!((low + high + 10.0).abs() < 1e-9, "{low} {high}");
        let half = f64::midpoint(high, -low);
        assert!((4.1..4.2).contains(&half), "{half}");
        let p = p_value(&[1.0, 2.0, 3.0], &[5.0, 7.0, 9.0]).unwrap_or_default();
        assert!((p < 0.05) == (high < 0.0), "p {p}, to {high}");
        assert_eq!(interval(&[2.0; 3], &[1.0; 3], 0.05), Some([1.0; 2]));
    }

    #[test]
    fn a_single_value_cannot_be_tested() {
        assert_eq!(p_value(&[1.0], &[1.0, 2.0]), None);
        assert_eq!(interval(&[1.0], &[1.0, 2.0], 0.05), None);
    }
}
