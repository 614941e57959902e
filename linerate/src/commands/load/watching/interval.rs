//! Pieces of the scored window, cut from readings of a block under way.

use traffic::load::SoFar;

/// One piece of the scored window and what was counted in it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Interval {
    /// Start of the interval, from the opening of the window on.
    pub(super) from_ns: u64,
    /// End of the interval, from the opening of the window on.
    pub(super) until_ns: u64,
    pub(super) counted: SoFar,
}

/// Cuts a window into intervals without a gap, so that they add up to all of it.
#[derive(Debug)]
pub(super) struct Cutter {
    interval_ns: u64,
    window_ns: u64,
    until_ns: u64,
    seen: SoFar,
}

impl Cutter {
    /// A cutter for a window that opens when `seen` was counted.
    pub(super) fn new(interval_ns: u64, window_ns: u64, seen: SoFar) -> Self {
        Self {
            interval_ns: interval_ns.max(1),
            window_ns,
            until_ns: 0,
            seen,
        }
    }

    /// When the present interval is to end, from the opening of the window on; `None` for the last,
    /// which ends with the window, whenever that is.
    pub(super) fn next_ns(&self) -> Option<u64> {
        let next_ns = (self.until_ns / self.interval_ns + 1) * self.interval_ns;
        (next_ns < self.window_ns).then_some(next_ns)
    }

    /// Ends the present interval at this moment, and begins the next.
    pub(super) fn cut(&mut self, until_ns: u64, seen: SoFar) -> Interval {
        let interval = Interval {
            from_ns: self.until_ns,
            until_ns: until_ns.max(self.until_ns),
            counted: seen.since(&self.seen),
        };
        self.until_ns = interval.until_ns;
        self.seen = seen;
        interval
    }
}

impl Interval {
    /// Its length in s, never zero.
    pub(super) fn seconds(&self) -> f64 {
        (self.until_ns - self.from_ns).max(1) as f64 / 1e9
    }

    /// Right answers per second.
    pub(super) fn throughput_rps(&self) -> f64 {
        self.counted.answered as f64 / self.seconds()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(answered: u64) -> SoFar {
        SoFar {
            answered,
            ..SoFar::default()
        }
    }

    #[test]
    fn intervals_that_were_cut_late_leave_no_gap_and_go_on_in_step() {
        let mut cutter = Cutter::new(1_000, 3_500, answered(0));
        assert_eq!(cutter.next_ns(), Some(1_000));
        let first = cutter.cut(1_010, answered(10));
        assert_eq!((first.from_ns, first.until_ns), (0, 1_010));
        assert_eq!(cutter.next_ns(), Some(2_000));
        let second = cutter.cut(3_200, answered(25));
        assert_eq!((second.from_ns, second.until_ns), (1_010, 3_200));
        assert_eq!(second.counted.answered, 15);
        assert_eq!(cutter.next_ns(), None);
    }

    #[test]
    fn the_end_of_the_window_is_no_edge_of_its_own() {
        let mut cutter = Cutter::new(1_000, 2_000, answered(0));
        cutter.cut(1_000, answered(1));
        assert_eq!(cutter.next_ns(), None);
    }
}
