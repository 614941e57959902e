//! Which thread of a server had a CPU most: one that has it all the time holds the rest back.

use sys::{clock, kernel_file};

use crate::targets;

/// Reads the CPU time of every thread of some processes and their children at both ends of a window.
#[derive(Debug)]
pub struct ThreadWatch {
    pids: Vec<u32>,
    opened: Sample,
    closed: Sample,
}

#[derive(Debug, Default)]
struct Sample {
    at_ns: u64,
    /// Thread and the CPU time that it has had, ns.
    threads: Vec<(u32, u64)>,
}

impl ThreadWatch {
    #[must_use]
    pub fn new(pids: &[u32]) -> Self {
        Self {
            pids: pids.to_vec(),
            opened: Sample::default(),
            closed: Sample::default(),
        }
    }

    /// The window begins.
    pub fn open(&mut self) {
        self.opened = self.sample();
    }

    /// The window ends.
    pub fn close(&mut self) {
        self.closed = self.sample();
    }

    /// The share of the window, 0 to 1, in which the busiest thread had a CPU; `None` where no
    /// thread can be read. Of a thread that runs, the kernel's count is up to a tick old.
    #[must_use]
    pub fn busiest_share(&self) -> Option<f64> {
        let window_ns = self.closed.at_ns.saturating_sub(self.opened.at_ns).max(1);
        let most_ns = busiest_ns(&self.opened.threads, &self.closed.threads)?;
        Some((most_ns as f64 / window_ns as f64).min(1.0))
    }

    fn sample(&self) -> Sample {
        let processes = self
            .pids
            .iter()
            .flat_map(|pid| targets::with_descendants(*pid));
        Sample {
            at_ns: clock::monotonic_ns(),
            threads: processes.flat_map(threads_of).collect(),
        }
    }
}

/// A thread that came within the window counts from its start.
fn busiest_ns(opened: &[(u32, u64)], closed: &[(u32, u64)]) -> Option<u64> {
    let since = |(thread, end_ns): &(u32, u64)| {
        let begin = opened.iter().find(|(known, _)| known == thread);
        end_ns.saturating_sub(begin.map_or(0, |(_, begin_ns)| *begin_ns))
    };
    closed.iter().map(since).max()
}

/// Its threads with the CPU time that each has had, ns. The first field of `schedstat` is the time on a CPU, ns (Documentation/scheduler/sched-stats.rst);
/// absent without `CONFIG_SCHED_INFO`.
pub(super) fn threads_of(pid: u32) -> Vec<(u32, u64)> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/task"));
    let names = entries
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let time = |name: String| {
        let text = kernel_file::text(format!("/proc/{pid}/task/{name}/schedstat"))?;
        Some((name.parse().ok()?, text.split(' ').next()?.parse().ok()?))
    };
    names.filter_map(time).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_is_the_thread_whose_time_rose_most() {
        let opened = [(1, 900), (2, 10), (4, 0)];
        let closed = [(1, 950), (2, 110), (3, 70)];
        assert_eq!(busiest_ns(&opened, &closed), Some(100));
        assert_eq!(busiest_ns(&opened, &[]), None);
    }

    #[test]
    fn a_thread_of_ours_that_spins_is_seen() {
        let mut watch = ThreadWatch::new(&[std::process::id()]);
        watch.open();
        let begun_ns = clock::thread_cpu_ns();
        while clock::thread_cpu_ns() - begun_ns < 50_000_000 {}
        watch.close();
        assert!(watch.busiest_share() > Some(0.0));
    }
}
