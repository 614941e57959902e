//! What "run A n times, then B n times" would have concluded about two identical arms.

use model::judgement::SequentialError;

use crate::welch;

/// Blocks per arm that people commonly run; more make the comparison worse, not better.
const MOST_BLOCKS: usize = 10;
/// With fewer blocks per arm, the comparison is no test.
const FEWEST_BLOCKS: usize = 5;
/// With fewer windows, the count of wrong calls is chance.
const FEWEST_WINDOWS: usize = 8;
/// The error that the t-test claims to have.
const ALPHA: f64 = 0.05;

/// Slides a window of 2n over the outcomes of identical blocks in time order, calls its first half
/// A and its second half B, and counts how often Welch's t-test declares them different.
///
/// `n` is as large as leaves eight windows, from 5 to 10; `None` for shorter runs.
pub fn error_of(outcomes: &[f64]) -> Option<SequentialError> {
    let n = (outcomes.len() + 1).checked_sub(FEWEST_WINDOWS)? / 2;
    let n = n.min(MOST_BLOCKS);
    if n < FEWEST_BLOCKS {
        return None;
    }
    let windows = outcomes.windows(2 * n);
    let declared = windows.clone().filter(|window| declares(window, n)).count();
    Some(SequentialError {
        n: u32::try_from(n).ok()?,
        windows: u32::try_from(windows.len()).ok()?,
        declared: u32::try_from(declared).ok()?,
    })
}

fn declares(window: &[f64], n: usize) -> bool {
    let (first, second) = window.split_at(n);
    welch::p_value(first, second).is_some_and(|p| p < ALPHA)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirty_two_blocks_give_thirteen_windows_of_ten_against_ten() {
        let steady: Vec<f64> = (0..32).map(|i| f64::from(i * 7 % 5)).collect();
        let found = error_of(&steady).unwrap();
        assert_eq!((found.n, found.windows, found.declared), (10, 13, 0));
    }

    #[test]
    fn a_drift_makes_every_window_declare_a_difference() {
        let drifting: Vec<f64> = (0..32).map(|i| 100.0 + f64::from(i)).collect();
        let found = error_of(&drifting).unwrap();
        assert_eq!(found.declared, found.windows);
    }

    #[test]
    fn a_shorter_run_gets_smaller_windows_and_a_very_short_one_none() {
        let blocks = |count: u32| -> Vec<f64> { (0..count).map(f64::from).collect() };
        let found = error_of(&blocks(17)).unwrap();
        assert_eq!((found.n, found.windows), (5, 8));
        assert_eq!(error_of(&blocks(16)), None);
        assert_eq!(error_of(&[]), None);
    }
}
