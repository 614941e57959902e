//! Reads the counters repeatedly, for a window whose edges are known only afterwards.

use std::collections::VecDeque;

use model::reading::Counts;

use super::{CpuWatch, Sample};

/// Most readings that are stored; the oldest are dropped first. At one per millisecond this is
/// about a minute.
const MOST: usize = 65_536;

/// Number of readings at each end of a window from which the quickest is chosen: a reader may lose
/// the CPU between reading the clock and reading the counters.
const CHOICE: usize = 4;

/// Successive readings of a target's counters, each with its time.
#[derive(Debug)]
pub struct CpuSeries {
    watch: CpuWatch,
    samples: VecDeque<Sample>,
}

impl CpuSeries {
    /// Prepares to watch the processes of a target.
    #[must_use]
    pub fn new(targets: &[u32]) -> Self {
        Self {
            watch: CpuWatch::new(targets),
            samples: VecDeque::new(),
        }
    }

    /// Reads the counters now.
    pub fn read(&mut self) {
        if self.samples.len() == MOST {
            self.samples.pop_front();
        }
        self.samples.push_back(self.watch.sample());
    }

    /// The rise of the counters between two readings that lie within these two moments of the
    /// monotonic clock, near either end; `None` where there are not two readings.
    #[must_use]
    pub fn within(&self, from_ns: u64, to_ns: u64) -> Option<Counts> {
        let is_inside = |sample: &&Sample| (from_ns..=to_ns).contains(&sample.at_ns);
        let inside: Vec<&Sample> = self.samples.iter().filter(is_inside).collect();
        let choice = CHOICE.min(inside.len() / 2);
        let quickest = |sample: &&&Sample| sample.took_ns;
        let opened = inside[..choice].iter().min_by_key(quickest)?;
        let closed = inside[inside.len() - choice..]
            .iter()
            .min_by_key(quickest)?;
        let window_ns = closed.at_ns - opened.at_ns;
        Some(self.watch.between(opened, closed, window_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sys::clock;

    /// Uses this much CPU time.
    fn spin(ns: u64) {
        let begun = clock::thread_cpu_ns();
        while clock::thread_cpu_ns() - begun < ns {}
    }

    #[test]
    fn only_what_was_counted_between_readings_within_the_window_is_told() {
        let mut series = CpuSeries::new(&[std::process::id()]);
        let mut times = Vec::new();
        for spent_ns in [5_000_000, 20_000_000, 5_000_000] {
            times.push(clock::monotonic_ns());
            series.read();
            spin(spent_ns);
        }
        times.push(clock::monotonic_ns());
        series.read();
        // From just before the second reading to just before the last: the 20 ms in between.
        let middle = series.within(times[1], times[3]).unwrap();
        let whole = series.within(0, u64::MAX).unwrap();
        assert!(middle.server_ns.unwrap() >= 20_000_000, "{middle:?}");
        // Equal where the first reading took so long that the second is the better edge.
        assert!(whole.server_ns >= middle.server_ns && whole.window_ns >= middle.window_ns);
        assert!(middle.window_ns <= times[3] - times[1], "{middle:?}");
    }

    #[test]
    fn a_window_without_two_readings_tells_nothing() {
        let mut series = CpuSeries::new(&[]);
        assert_eq!(series.within(0, u64::MAX), None);
        series.read();
        assert_eq!(series.within(0, u64::MAX), None);
        series.read();
        assert!(series.within(0, u64::MAX).is_some());
        assert_eq!(series.within(0, 1), None);
    }
}
