//! Work of a known amount, to plant a slowdown that a study must find.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sys::clock::thread_cpu_ns;

/// One in this many requests is timed, so that reading the clock costs next to nothing per request.
const TIMED_EACH: u64 = 64;
/// Readings of the clock for each timed request.
const READINGS: f64 = 4.0;

/// A loop of a given number of rounds for each request. Their cost depends on the CPU and on its
/// neighbours; [`PlantedCost`] tells what it was.
pub(super) struct BusyWork {
    rounds: u64,
    requests: u64,
    /// When the last timed request ended, by the CPU clock of the thread, ns.
    timed_ns: Option<u64>,
    cost: PlantedCost,
}

impl BusyWork {
    pub(super) fn new(rounds: u64, cost: PlantedCost) -> Self {
        Self {
            rounds,
            requests: 0,
            timed_ns: None,
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
    fn perform_timed(&mut self) {
        // The first reading finds cold caches. The difference of the next two is the cost of one
        // reading, which the last one also has.
        let [_, begin_ns, middle_ns] = [(); 3].map(|()| thread_cpu_ns());
        spin(self.rounds);
        let end_ns = thread_cpu_ns();
        if let Some(before_ns) = self.timed_ns.replace(end_ns) {
            self.cost
                .add([middle_ns - begin_ns, end_ns - middle_ns, end_ns - before_ns]);
        }
    }
}

/// Never inlined, so that timed and untimed requests run the same code: the speed of so short a
/// loop depends on where it lies.
#[inline(never)]
fn spin(rounds: u64) {
    for round in 0..rounds {
        black_box(round);
    }
}

/// The cost of planted work, by the CPU clock of the thread that did it. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct PlantedCost(Arc<Sums>);

#[derive(Debug, Default)]
struct Sums {
    timed: AtomicU64,
    reading_ns: AtomicU64,
    /// Spinning, with one reading of the clock for each timed request.
    spinning_ns: AtomicU64,
    /// All requests since the previous timed one.
    all_ns: AtomicU64,
}

/// CPU time of a request, ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlantedNs {
    /// What planted work added to it, including the readings of the clock.
    pub added: f64,
    /// All CPU time that the thread spent on it, the kernel's part included.
    pub all: f64,
}

impl PlantedCost {
    fn add(&self, [reading_ns, spinning_ns, all_ns]: [u64; 3]) {
        let sums = &*self.0;
        sums.timed.fetch_add(1, Ordering::Relaxed);
        sums.reading_ns.fetch_add(reading_ns, Ordering::Relaxed);
        sums.spinning_ns.fetch_add(spinning_ns, Ordering::Relaxed);
        sums.all_ns.fetch_add(all_ns, Ordering::Relaxed);
    }

    /// Returns the cost of a request; `None` where no request was timed.
    pub fn per_request(&self) -> Option<PlantedNs> {
        let sums = &*self.0;
        let timed = sums.timed.load(Ordering::Relaxed) as f64;
        let each = [&sums.reading_ns, &sums.spinning_ns, &sums.all_ns]
            .map(|sum| sum.load(Ordering::Relaxed) as f64 / timed);
        let [reading_ns, spinning_ns, all_ns] = each;
        let clock_ns = READINGS * reading_ns / TIMED_EACH as f64;
        (timed > 0.0).then_some(PlantedNs {
            added: spinning_ns - reading_ns + clock_ns,
            all: all_ns / TIMED_EACH as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planted_work_is_timed_without_the_reading_of_the_clock() {
        let cost = PlantedCost::default();
        assert_eq!(cost.per_request(), None);
        cost.add([200, 1_200, 300_000]);
        cost.add([300, 1_300, 340_000]);
        let expected = PlantedNs {
            added: 1_000.0 + READINGS * 250.0 / 64.0,
            all: 5_000.0,
        };
        assert_eq!(cost.per_request(), Some(expected));
    }

    #[test]
    fn one_request_in_sixty_four_is_timed_from_the_second_on_and_none_where_nothing_is_planted() {
        for (rounds, timed) in [(1_000, 2), (0, 0)] {
            let cost = PlantedCost::default();
            let mut work = BusyWork::new(rounds, cost.clone());
            (0..200).for_each(|_| work.perform());
            assert_eq!(cost.0.timed.load(Ordering::Relaxed), timed);
        }
    }
}
