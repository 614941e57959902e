//! Work of a known length, to plant a slowdown that a study must find.

use std::hint::black_box;

use sys::clock::monotonic_ns;

/// Rounds of the loop that are timed to learn how long one takes.
const TRIAL_ROUNDS: u64 = 200_000;

/// A loop that takes a given time. It counts rounds instead of reading the clock, whose reading
/// takes as long as the smallest slowdown that is of interest.
#[derive(Clone, Copy, Debug)]
pub(super) struct BusyWork {
    rounds: u64,
}

impl BusyWork {
    /// Measures this CPU first, unless nothing is asked for.
    pub(super) fn of_ns(duration_ns: u64) -> Self {
        let rounds = match duration_ns {
            0 => 0,
            _ => rounds_in(duration_ns, fastest_trial_ns()),
        };
        Self { rounds }
    }

    #[inline]
    pub(super) fn perform(self) {
        for round in 0..self.rounds {
            black_box(round);
        }
    }
}

fn rounds_in(duration_ns: u64, trial_ns: u64) -> u64 {
    let rounds = u128::from(duration_ns) * u128::from(TRIAL_ROUNDS) / u128::from(trial_ns.max(1));
    u64::try_from(rounds).unwrap_or(u64::MAX)
}

/// The fastest of several, which nobody else interrupted.
fn fastest_trial_ns() -> u64 {
    let trial = BusyWork {
        rounds: TRIAL_ROUNDS,
    };
    let trial_ns = || {
        let begun_ns = monotonic_ns();
        trial.perform();
        monotonic_ns() - begun_ns
    };
    (0..20).map(|_| trial_ns()).min().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_rounds_follows_from_the_time_of_the_trial() {
        assert_eq!(rounds_in(500, 100_000), 1_000);
        assert_eq!(rounds_in(0, 0), 0);
        assert_eq!(BusyWork::of_ns(0).rounds, 0);
        assert!(BusyWork::of_ns(1_000_000).rounds > BusyWork::of_ns(1_000).rounds);
    }
}
