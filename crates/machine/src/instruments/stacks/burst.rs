//! Perf events that watch for a short time only.

use std::io;
use std::time::Duration;

use sys::perf::{PerfEvent, PerfRecord, Trigger, Whose};
use sys::{clock, kernel_file};

/// Most pages of all rings together, and of each: they bound how late we may empty the rings while
/// other programs have the CPUs.
const MOST_PAGES: usize = 8192;
const MOST_PAGES_EACH: usize = 1024;
/// Time between two emptyings of the rings.
const TURN: Duration = Duration::from_millis(5);
const NO_SUCH_THREAD: i32 = 3;

/// Events with their rings.
pub(super) struct Burst(Vec<PerfEvent>);

impl Burst {
    /// Opens events for whatever runs on any CPU.
    pub(super) fn of_all_cpus(trigger: Trigger) -> io::Result<Self> {
        let cpus = online();
        let pages = pages_each(cpus.len());
        let open = |cpu| PerfEvent::open(trigger, Whose::Cpu(cpu), pages);
        cpus.into_iter()
            .map(open)
            .collect::<io::Result<_>>()
            .map(Self)
    }

    /// Opens events for some threads, except for those that have ended in the meantime.
    pub(super) fn of_threads(threads: &[u32], trigger: Trigger) -> io::Result<Self> {
        let pages = pages_each(threads.len());
        let open = |thread: &u32| PerfEvent::open(trigger, Whose::Thread(*thread), pages);
        let is_there = |opened: &io::Result<PerfEvent>| {
            let error = opened.as_ref().err().and_then(io::Error::raw_os_error);
            error != Some(NO_SUCH_THREAD)
        };
        let opened = threads.iter().map(open).filter(is_there);
        opened.collect::<io::Result<_>>().map(Self)
    }

    /// Lets the events watch for this time, or until `take` refuses a record; returns how long they
    /// watched, ns.
    pub(super) fn watch(
        &mut self,
        duration: Duration,
        mut take: impl FnMut(PerfRecord<'_>) -> bool,
    ) -> io::Result<u64> {
        self.0.iter().try_for_each(PerfEvent::start)?;
        let begun_ns = clock::monotonic_ns();
        let end = clock::now() + duration;
        let left = || {
            end.checked_duration_since(clock::now())
                .filter(|left| !left.is_zero())
        };
        let mut is_taken = true;
        while let (true, Some(left)) = (is_taken, left()) {
            clock::wait_until(left.min(TURN), || false);
            is_taken = self.drain(&mut take);
        }
        self.0.iter().try_for_each(PerfEvent::stop)?;
        let window_ns = clock::monotonic_ns() - begun_ns;
        self.drain(&mut take);
        Ok(window_ns)
    }

    /// Passes all waiting records to `take`, and says whether it accepted them all.
    fn drain(&mut self, take: &mut impl FnMut(PerfRecord<'_>) -> bool) -> bool {
        let mut is_taken = true;
        for event in &mut self.0 {
            event.drain(|record| is_taken &= take(record));
        }
        is_taken
    }
}

/// Pages for each ring: a power of two, as the kernel requires.
fn pages_each(events: usize) -> usize {
    let most = (MOST_PAGES / events.max(1)).clamp(1, MOST_PAGES_EACH);
    1 << most.ilog2()
}

fn online() -> Vec<u32> {
    let list = kernel_file::text("/sys/devices/system/cpu/online");
    let cpus = list.and_then(|list| sys::cpu::parse_list(&list).ok());
    let cpus = cpus.unwrap_or_default().into_iter();
    cpus.filter_map(|cpu| u32::try_from(cpu).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_are_as_large_as_all_of_them_may_be_together() {
        let cases = [(1, 1024), (2, 1024), (12, 512), (512, 16), (100_000, 1)];
        for (events, pages) in cases {
            assert_eq!(pages_each(events), pages, "{events}");
        }
    }
}
