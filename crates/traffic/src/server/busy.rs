//! Work of a known length, to plant a slowdown that a study must find.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sys::clock::{monotonic_ns, thread_cpu_ns};

/// Rounds of the loop that are timed to learn how long one takes.
const TRIAL_ROUNDS: u64 = 200_000;
/// Of so many requests one is timed, so that the readings of the clock are next to nothing of a request.
const TIMED_EACH: u64 = 64;
/// Readings of the clock at each.
const READINGS: f64 = 4.0;

/// A loop that takes about a given time. It counts rounds instead of reading the clock, whose reading
/// takes as long as the smallest slowdown that is of interest. What a round takes was learnt on an idle
/// machine, and is more beside a busy one; what it came to is told by [`PlantedCost`].
pub(super) struct BusyWork {
    rounds: u64,
    requests: u64,
    cost: PlantedCost,
}

impl BusyWork {
    /// Measures this CPU first, unless nothing is asked for.
    pub(super) fn of_ns(duration_ns: u64, cost: PlantedCost) -> Self {
        let rounds = match duration_ns {
            0 => 0,
            _ => rounds_in(duration_ns, fastest_trial_ns()),
        };
        Self {
            rounds,
            requests: 0,
            cost,
        }
    }

    #[inline]
    pub(super) fn perform(&mut self) {
        if self.rounds == 0 {
            return;
        }
        self.requests += 1;
        if self.requests.is_multiple_of(TIMED_EACH) {
            return self.perform_timed();
        }
        spin(self.rounds);
    }

    #[cold]
    fn perform_timed(&self) {
        // The first reading finds cold caches; the two behind it tell what one takes, as the last does.
        let [_, begin_ns, middle_ns] = [(); 3].map(|()| thread_cpu_ns());
        spin(self.rounds);
        let end_ns = thread_cpu_ns();
        self.cost.add(middle_ns - begin_ns, end_ns - middle_ns);
    }
}

fn spin(rounds: u64) {
    for round in 0..rounds {
        black_box(round);
    }
}

/// What planted work came to, by the clock of the thread that did it. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct PlantedCost(Arc<Sums>);

#[derive(Debug, Default)]
struct Sums {
    timed: AtomicU64,
    reading_ns: AtomicU64,
    /// With one reading each.
    spinning_ns: AtomicU64,
}

impl PlantedCost {
    fn add(&self, reading_ns: u64, spinning_ns: u64) {
        let Sums {
            timed,
            reading_ns: readings,
            spinning_ns: spinnings,
        } = &*self.0;
        timed.fetch_add(1, Ordering::Relaxed);
        readings.fetch_add(reading_ns, Ordering::Relaxed);
        spinnings.fetch_add(spinning_ns, Ordering::Relaxed);
    }

    /// CPU time that it added to a request, ns, with the readings of the clock; `None` where no request
    /// was timed.
    #[must_use]
    pub fn ns_per_request(&self) -> Option<f64> {
        let [timed, reading_ns, spinning_ns] =
            [&self.0.timed, &self.0.reading_ns, &self.0.spinning_ns]
                .map(|sum| sum.load(Ordering::Relaxed) as f64);
        let (reading_ns, spinning_ns) = (reading_ns / timed, spinning_ns / timed);
        let of_clock_ns = READINGS * reading_ns / TIMED_EACH as f64;
        (timed > 0.0).then_some(spinning_ns - reading_ns + of_clock_ns)
    }
}

fn rounds_in(duration_ns: u64, trial_ns: u64) -> u64 {
    let rounds = u128::from(duration_ns) * u128::from(TRIAL_ROUNDS) / u128::from(trial_ns.max(1));
    u64::try_from(rounds).unwrap_or(u64::MAX)
}

/// The fastest of several, which nobody else interrupted.
fn fastest_trial_ns() -> u64 {
    let trial_ns = || {
        let begun_ns = monotonic_ns();
        spin(TRIAL_ROUNDS);
        monotonic_ns() - begun_ns
    };
    (0..20).map(|_| trial_ns()).min().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planted(duration_ns: u64) -> (BusyWork, PlantedCost) {
        let cost = PlantedCost::default();
        (BusyWork::of_ns(duration_ns, cost.clone()), cost)
    }

    #[test]
    fn the_number_of_rounds_follows_from_the_time_of_the_trial() {
        assert_eq!(rounds_in(500, 100_000), 1_000);
        assert_eq!(rounds_in(0, 0), 0);
        assert_eq!(planted(0).0.rounds, 0);
        assert!(planted(1_000_000).0.rounds > planted(1_000).0.rounds);
    }

    #[test]
    fn planted_work_is_timed_without_the_reading_of_the_clock() {
        let cost = PlantedCost::default();
        assert_eq!(cost.ns_per_request(), None);
        cost.add(200, 1_200);
        cost.add(300, 1_300);
        let of_clock_ns = READINGS * 250.0 / 64.0;
        assert_eq!(cost.ns_per_request(), Some(1_000.0 + of_clock_ns));
    }

    #[test]
    fn one_request_in_sixty_four_is_timed_and_none_where_nothing_is_planted() {
        for (duration_ns, timed) in [(1_000, 2), (0, 0)] {
            let (mut work, cost) = planted(duration_ns);
            (0..130).for_each(|_| work.perform());
            assert_eq!(cost.0.timed.load(Ordering::Relaxed), timed);
        }
    }
}
