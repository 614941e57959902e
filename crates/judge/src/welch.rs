//! Welch's t-test of two independent samples: the test that blocks of a shared machine break.

use crate::student;

/// The two-sided p-value of "both samples have one mean"; `None` with fewer than two values in
/// either. Samples without any spread differ for certain (0) or not at all (1).
#[must_use]
pub fn p_value(first: &[f64], second: &[f64]) -> Option<f64> {
    let (a, b) = (Moments::of(first)?, Moments::of(second)?);
    let variance = a.variance_of_mean + b.variance_of_mean;
    let distance = a.mean - b.mean;
    if variance <= 0.0 {
        return Some(if distance == 0.0 { 1.0 } else { 0.0 });
    }
    let freedom = variance * variance
        / (a.variance_of_mean.powi(2) / a.freedom + b.variance_of_mean.powi(2) / b.freedom);
    Some(student::two_sided_p(distance / variance.sqrt(), freedom))
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

    #[test]
    fn a_single_value_cannot_be_tested() {
        assert_eq!(p_value(&[1.0], &[1.0, 2.0]), None);
    }
}
