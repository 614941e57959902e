//! Holm's step-down: one family of comparisons, one chance in twenty of any false verdict.

/// The error shared by all verdicts of a run.
pub const FAMILY_ALPHA: f64 = 0.05;

/// The two-sided error for each comparison, in the order of the p-values.
///
/// The smallest of K p-values is held against family/K, the next against family/(K − 1) and so
/// on; from the first that fails, all later ones keep the error at which it failed.
pub fn alphas(p_values: &[f64], family_alpha: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut alphas = vec![0.0; p_values.len()];
    let mut passed = 0;
    for index in order {
        let alpha = family_alpha / (p_values.len() - passed) as f64;
        alphas[index] = alpha;
        if p_values[index] <= alpha && passed + 1 < p_values.len() {
            passed += 1;
        }
    }
    alphas
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_success_loosens_the_error_for_the_next() {
        let found = alphas(&[0.02, 0.001, 0.01], 0.06);
        assert_eq!(found, [0.06, 0.02, 0.03]);
    }

    #[test]
    fn after_the_first_failure_the_error_stays() {
        let found = alphas(&[0.001, 0.5, 0.04, 0.6], 0.04);
        assert_eq!(found, [0.01, 0.04 / 3.0, 0.04 / 3.0, 0.04 / 3.0]);
    }

    #[test]
    fn a_later_success_cannot_follow_a_failure() {
        // 0.021 fails against 0.02; 0.022 is held against the same 0.02, not against 0.03.
        assert_eq!(alphas(&[0.021, 0.022, 0.9], 0.06), [0.02; 3]);
    }

    #[test]
    fn a_lone_comparison_has_the_whole_error_and_an_empty_family_none() {
        assert_eq!(alphas(&[0.001], 0.05), [0.05]);
        assert!(alphas(&[], 0.05).is_empty());
    }
}
