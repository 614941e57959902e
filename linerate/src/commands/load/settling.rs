//! Whether throughput had settled when scoring began.

use judge::warmup::{WarmUp, mser5};
use model::Doubt;
use traffic::load::{LoadOutcome, TICK_NS};

/// A start that changes the throughput by less than this is not worth leaving out.
const WORTH_LEAVING_OUT: f64 = 0.03;

/// When throughput settled, from the start of the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settling {
    /// Before scoring began, or near enough, or there is too little data to tell.
    InTime,
    /// Scoring began too early.
    Late { after_ns: u64 },
    /// It had not settled by the end.
    Never,
}

/// Judges a block of which the first `settle_ns` were not scored. One whose server stopped
/// answering did not settle late, and a longer one would not settle either.
pub(super) fn of(outcome: &LoadOutcome, settle_ns: u64) -> Settling {
    let has_stopped = |doubt: &Doubt| matches!(doubt, Doubt::StoppedAnswering { .. });
    match outcome.doubts.iter().any(has_stopped) {
        true => Settling::InTime,
        false => look(&outcome.window_counts, settle_ns),
    }
}

/// Judges by the answers in each tick.
fn look(counts: &[u64], settle_ns: u64) -> Settling {
    let settled = usize::try_from(settle_ns.div_ceil(TICK_NS)).unwrap_or(usize::MAX);
    let Some(scored) = counts.get(settled..) else {
        return Settling::InTime;
    };
    let values: Vec<f64> = counts.iter().map(|count| *count as f64).collect();
    let cut = match mser5(&values) {
        WarmUp::TooShort => return Settling::InTime,
        WarmUp::NeverSettled => counts.len() / 2,
        WarmUp::Drop { windows } => windows,
    };
    // Noise alone moves the cut about; what counts is whether the cut changes the answer.
    if cut <= settled || !differs(mean(scored), mean(&counts[cut..])) {
        return Settling::InTime;
    }
    match mser5(&values) {
        WarmUp::NeverSettled => Settling::Never,
        _ => Settling::Late {
            after_ns: cut as u64 * TICK_NS,
        },
    }
}

fn differs(with_start: f64, without: f64) -> bool {
    (with_start - without).abs() > WORTH_LEAVING_OUT * without
}

fn mean(counts: &[u64]) -> f64 {
    counts.iter().sum::<u64>() as f64 / counts.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(slow: usize, ticks: usize) -> Vec<u64> {
        (0..ticks)
            .map(|tick| {
                if tick < slow {
                    500
                } else {
                    1000 + tick as u64 % 3
                }
            })
            .collect()
    }

    #[test]
    fn a_start_within_the_settling_time_is_in_time() {
        assert_eq!(look(&block(5, 60), 5 * TICK_NS), Settling::InTime);
        assert_eq!(look(&block(0, 60), 0), Settling::InTime);
    }

    #[test]
    fn a_start_that_reaches_into_the_scored_window_is_late() {
        let late = Settling::Late {
            after_ns: 15 * TICK_NS,
        };
        assert_eq!(look(&block(15, 105), 5 * TICK_NS), late);
    }

    #[test]
    fn a_rate_that_keeps_rising_never_settles() {
        let rising: Vec<u64> = (0..60).map(|tick| 1000 + tick * 50).collect();
        assert_eq!(look(&rising, 0), Settling::Never);
    }

    #[test]
    fn too_few_ticks_say_nothing() {
        assert_eq!(look(&block(5, 20), 0), Settling::InTime);
        assert_eq!(look(&[], 500_000_000), Settling::InTime);
    }
}
