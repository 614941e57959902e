//! Counts that one thread writes while others read them.
//!
//! Each cell has one writer, so adding is a load, an addition and a store: the instructions of a
//! private count, without a lock and without an instruction that locks the bus. Readers see every
//! cell as it was at some moment of their reading. Two writers would lose counts.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::Histogram;
use crate::histogram::{BUCKETS, bucket_of};

/// A number that only grows.
#[derive(Debug, Default)]
pub struct SharedCount(AtomicU64);

impl SharedCount {
    /// Adds to the count. Only one thread may call this.
    #[inline]
    pub fn add(&self, count: u64) {
        let before = self.0.load(Ordering::Relaxed);
        self.0.store(before + count, Ordering::Relaxed);
    }

    /// Returns the present count.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A [`Histogram`] that one thread fills while others read it.
pub struct SharedHistogram(Box<[SharedCount]>);

impl Default for SharedHistogram {
    fn default() -> Self {
        Self((0..BUCKETS).map(|_| SharedCount::default()).collect())
    }
}

impl SharedHistogram {
    /// Counts one duration, as [`Histogram::record`] does. Only one thread may call this.
    #[inline]
    pub fn record(&self, duration_ns: u64) {
        self.0[bucket_of(duration_ns)].add(1);
    }

    /// Returns the histogram of what was counted so far.
    pub fn read(&self) -> Histogram {
        Histogram::of_counts(self.0.iter().map(SharedCount::get))
    }
}

impl std::fmt::Debug for SharedHistogram {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.read().fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_what_a_histogram_of_one_thread_holds() {
        let (shared, mut alone) = (SharedHistogram::default(), Histogram::default());
        for value in [0, 5, 127, 128, 999_999, 1 << 35, u64::MAX] {
            shared.record(value);
            alone.record(value);
        }
        assert_eq!(shared.read(), alone);
    }

    #[test]
    fn readers_see_counts_that_only_grow_up_to_all_of_them() {
        const ALL: u64 = 100_000;
        let shared = SharedHistogram::default();
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| (0..ALL).for_each(|value| shared.record(value)));
            let mut seen = 0;
            while !writer.is_finished() {
                let now = shared.read().total();
                assert!((seen..=ALL).contains(&now), "{now} after {seen}");
                seen = now;
            }
        });
        assert_eq!(shared.read().total(), ALL);
    }
}
