//! When requests or packets that leave by a clock are due: absolute times, never moved and never
//! skipped.

use model::random::SplitMix64;
use model::workload::Arrivals;

/// The due times of one thread, in ns from the start of the block. The schedules of all threads
/// together make up the rate that was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    due_ns: f64,
    gaps: Gaps,
}

#[derive(Clone, Debug)]
enum Gaps {
    /// Due times are multiples and not sums, so that rounding errors do not add up.
    Even {
        first_ns: f64,
        period_ns: f64,
        index: u64,
    },
    Exponential {
        mean_ns: f64,
        random: SplitMix64,
    },
}

impl Schedule {
    /// Creates the share of thread `thread` of `threads` in `rate_rps` a second.
    pub(crate) fn new(
        rate_rps: f64,
        arrivals: Arrivals,
        seed: u64,
        thread: u32,
        threads: u32,
    ) -> Self {
        let gap_ns = 1e9 / rate_rps;
        let period_ns = gap_ns * f64::from(threads);
        let first_ns = gap_ns * f64::from(thread);
        match arrivals {
            Arrivals::Uniform => {
                let gaps = Gaps::Even {
                    first_ns,
                    period_ns,
                    index: 0,
                };
                Self {
                    due_ns: first_ns,
                    gaps,
                }
            }
            Arrivals::Poisson => {
                // Independent Poisson streams add up to one; each thread draws its own.
                let random = SplitMix64::new(seed).stream(thread);
                let gaps = Gaps::Exponential {
                    mean_ns: period_ns,
                    random,
                };
                let mut schedule = Self { due_ns: 0.0, gaps };
                schedule.advance();
                schedule
            }
        }
    }

    /// Returns when the next one is due, in ns from the start.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "nanoseconds since the start, never negative; `as` saturates"
    )]
    pub(crate) fn due_ns(&self) -> u64 {
        self.due_ns as u64
    }

    /// Advances to the next due time.
    #[inline]
    pub(crate) fn advance(&mut self) {
        match &mut self.gaps {
            Gaps::Even {
                first_ns,
                period_ns,
                index,
            } => {
                *index += 1;
                self.due_ns = *first_ns + *period_ns * *index as f64;
            }
            Gaps::Exponential { mean_ns, random } => {
                self.due_ns += -*mean_ns * random.open_unit().ln();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due_times(mut schedule: Schedule, until_ns: u64) -> Vec<u64> {
        let mut times = Vec::new();
        while schedule.due_ns() < until_ns {
            times.push(schedule.due_ns());
            schedule.advance();
        }
        times
    }

    #[test]
    fn an_even_schedule_has_every_due_time_on_its_mark_across_threads() {
        let thread = |index| Schedule::new(3000.0, Arrivals::Uniform, 0, index, 2);
        let mut times = due_times(thread(0), 1_000_000_000);
        times.extend(due_times(thread(1), 1_000_000_000));
        times.sort_unstable();
        assert_eq!(times.len(), 3000);
        for (index, time) in times.iter().enumerate() {
            assert!(
                time.abs_diff(index as u64 * 1_000_000 / 3) <= 1,
                "{index}: {time}"
            );
        }
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_the_spread_of_exponential_ones() {
        let times = due_times(
            Schedule::new(1e6, Arrivals::Poisson, 7, 0, 1),
            1_000_000_000,
        );
        let gaps: Vec<f64> = times
            .windows(2)
            .map(|pair| (pair[1] - pair[0]) as f64)
            .collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let over_twice = gaps.iter().filter(|gap| **gap > 2000.0).count() as f64;
        assert!((mean - 1000.0).abs() < 10.0, "{mean}");
        assert!((over_twice / gaps.len() as f64 - (-2.0_f64).exp()).abs() < 0.002);
    }

    #[test]
    fn the_seed_gives_the_schedule_and_threads_have_different_ones() {
        let schedule = |seed, thread| {
            due_times(
                Schedule::new(1e4, Arrivals::Poisson, seed, thread, 2),
                100_000_000,
            )
        };
        assert_eq!(schedule(1, 0), schedule(1, 0));
        assert_ne!(schedule(1, 0), schedule(2, 0));
        assert_ne!(schedule(1, 0), schedule(1, 1));
    }
}
