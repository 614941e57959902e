//! CPU time that the calling thread used, and time for which it was kept from its CPU.

use sys::{clock, kernel_file};

/// Running totals of one thread, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) at_ns: u64,
    pub(super) cpu_ns: u64,
    /// Time spent ready to run while something else had the CPU.
    pub(super) waited_ns: u64,
    /// Part of `cpu_ns` that was spent watching the clock until the next request was due.
    pub(super) spun_ns: u64,
}

impl Usage {
    /// Reads the totals of the calling thread. Only the thread itself knows how long it spun.
    pub(super) fn read(spun_ns: u64) -> Self {
        Self {
            waited_ns: waited_ns().unwrap_or(0),
            cpu_ns: clock::thread_cpu_ns(),
            at_ns: clock::monotonic_ns(),
            spun_ns,
        }
    }

    /// Returns the difference to an earlier reading.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        Self {
            at_ns: self.at_ns - earlier.at_ns,
            cpu_ns: self.cpu_ns - earlier.cpu_ns,
            waited_ns: self.waited_ns - earlier.waited_ns,
            spun_ns: self.spun_ns - earlier.spun_ns,
        }
    }

    /// Returns the CPU time that went into the load: spinning is not load.
    pub(super) fn work_ns(&self) -> u64 {
        self.cpu_ns.saturating_sub(self.spun_ns)
    }

    /// Returns the share of the time that went into the load. `self` must be a difference.
    pub(super) fn busy_share(&self) -> f64 {
        self.work_ns() as f64 / self.at_ns.max(1) as f64
    }

    /// Returns the share of the time that went into the load or into waiting for the CPU: near 1,
    /// the thread could not have done more.
    pub(super) fn occupied_share(&self) -> f64 {
        (self.work_ns() + self.waited_ns) as f64 / self.at_ns.max(1) as f64
    }
}

/// Reads the time spent on a run queue, which is the second field of `schedstat`
/// (Documentation/scheduler/sched-stats.rst); absent without `CONFIG_SCHED_INFO`.
fn waited_ns() -> Option<u64> {
    let text = kernel_file::text("/proc/thread-self/schedstat")?;
    text.split(' ').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spinning_is_not_load_and_waiting_for_the_cpu_is_no_leisure() {
        let begun = Usage {
            at_ns: 100,
            cpu_ns: 50,
            waited_ns: 10,
            spun_ns: 5,
        };
        let ended = Usage {
            at_ns: 1100,
            cpu_ns: 650,
            waited_ns: 310,
            spun_ns: 205,
        };
        let used = ended.since(&begun);
        assert_eq!((used.work_ns(), used.at_ns), (400, 1000));
        assert!((used.busy_share() - 0.4).abs() < 1e-9);
        assert!((used.occupied_share() - 0.7).abs() < 1e-9);
    }
}
