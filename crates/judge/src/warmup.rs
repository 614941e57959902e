//! How long a target warms up: MSER-5 over the counts of equal windows.

/// Windows averaged into one value, so that noise between neighbours does not choose the cut.
const BATCH: usize = 5;
/// With fewer batches, half of them say nothing about the rest.
const FEWEST_BATCHES: usize = 6;

/// What the windows show about the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarmUp {
    /// Leave out this many windows from the start; the rest is steady.
    Drop { windows: usize },
    /// The best cut is in the middle, where the search ends, so the target still changes.
    NeverSettled,
    /// Fewer than thirty windows.
    TooShort,
}

/// Finds the cut: the number of leading batches `d`, at most half, whose removal minimises the
/// squared standard error of the mean of the rest, S²/(N − d)².
pub fn mser5(window_counts: &[f64]) -> WarmUp {
    let batches: Vec<f64> = window_counts
        .chunks_exact(BATCH)
        .map(|batch| batch.iter().sum::<f64>() / BATCH as f64)
        .collect();
    if batches.len() < FEWEST_BATCHES {
        return WarmUp::TooShort;
    }
    let latest = batches.len() / 2;
    let best = (0..=latest)
        .min_by(|a, b| squared_error(&batches[*a..]).total_cmp(&squared_error(&batches[*b..])))
        .unwrap_or(latest);
    if best == latest {
        WarmUp::NeverSettled
    } else {
        WarmUp::Drop {
            windows: best * BATCH,
        }
    }
}

fn squared_error(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n * n)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steady counts with a little noise that repeats.
    fn steady(index: usize) -> f64 {
        1000.0 + [3.0, -2.0, 5.0, -4.0, 1.0, -3.0, 0.0][index % 7]
    }

    #[test]
    fn steady_windows_are_all_kept() {
        let counts: Vec<f64> = (0..100).map(steady).collect();
        assert_eq!(mser5(&counts), WarmUp::Drop { windows: 0 });
    }

    #[test]
    fn a_slow_start_of_twelve_windows_is_cut_at_the_next_batch() {
        let counts: Vec<f64> = (0..100)
            .map(|index| steady(index) - if index < 12 { 400.0 } else { 0.0 })
            .collect();
        assert_eq!(mser5(&counts), WarmUp::Drop { windows: 15 });
    }

    #[test]
    fn a_rate_that_keeps_rising_never_settles() {
        let counts: Vec<f64> = (0..100)
            .map(|index| 1000.0 + f64::from(index) * 20.0)
            .collect();
        assert_eq!(mser5(&counts), WarmUp::NeverSettled);
    }

    #[test]
    fn twenty_nine_windows_are_too_few() {
        assert_eq!(mser5(&[1.0; 29]), WarmUp::TooShort);
    }
}
