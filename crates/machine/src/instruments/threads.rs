//! CPU time of a program's threads: which thread ran most, since a thread that runs all the time
//! holds the others back, and which threads waited for a CPU.

use std::collections::BTreeMap;

use model::observation::SeenThread;
use sys::{clock, kernel_file};

use crate::cpu_ticks::TICK_NS;
use crate::process_stat::ProcessStat;
use crate::targets;
use crate::tree::{Tree, behind};

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
    /// Each thread with its CPU time so far, ns.
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

    /// Begins the window.
    pub fn open(&mut self) {
        self.opened = self.sample();
    }

    /// Ends the window.
    pub fn close(&mut self) {
        self.closed = self.sample();
    }

    /// The share of the window, 0 to 1, in which the busiest thread had a CPU; `None` where no
    /// thread can be read. While a thread runs, the kernel's count is up to a tick old.
    #[must_use]
    pub fn busiest_share(&self) -> Option<f64> {
        let window_ns = self.closed.at_ns.saturating_sub(self.opened.at_ns).max(1);
        let most_ns = busiest_ns(&self.opened.threads, &self.closed.threads)?;
        Some((most_ns as f64 / window_ns as f64).min(1.0))
    }

    fn sample(&self) -> Sample {
        let at_ns = clock::monotonic_ns();
        let processes = targets::family(&self.pids).into_iter();
        Sample {
            at_ns,
            threads: processes.flat_map(threads_of).collect(),
        }
    }
}

/// The most CPU time of one thread within the window, ns. A thread that began within it counts from
/// its start.
fn busiest_ns(opened: &[(u32, u64)], closed: &[(u32, u64)]) -> Option<u64> {
    let since = |(thread, end_ns): &(u32, u64)| {
        let begin = opened.iter().find(|(known, _)| known == thread);
        end_ns.saturating_sub(begin.map_or(0, |(_, begin_ns)| *begin_ns))
    };
    closed.iter().map(since).max()
}

/// The threads of a process, each with its CPU time so far, ns.
pub(super) fn threads_of(pid: u32) -> Vec<(u32, u64)> {
    let running = |id| Some((id, scheduled(pid, id)?.0));
    ids_of(pid).filter_map(running).collect()
}

/// How long a thread has run, and how long it was ready to run but had no CPU, ns: the first two
/// fields of `schedstat` (Documentation/scheduler/sched-stats.rst); absent without
/// `CONFIG_SCHED_INFO`.
fn scheduled(pid: u32, id: u32) -> Option<(u64, u64)> {
    let text = kernel_file::text(format!("/proc/{pid}/task/{id}/schedstat"))?;
    let mut fields = text.split(' ').map(str::parse);
    Some((fields.next()?.ok()?, fields.next()?.ok()?))
}

fn ids_of(pid: u32) -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/task"));
    let names = entries.into_iter().flatten().filter_map(Result::ok);
    names.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The threads of processes and of all their descendants, as pairs of process and thread.
pub(super) fn numbers(pids: &[u32]) -> Vec<(u32, u32)> {
    let of_process = |pid| ids_of(pid).map(move |id| (pid, id));
    let all = targets::family(pids).into_iter().flat_map(of_process);
    all.collect()
}

/// What each thread of processes and of their descendants has used since it started.
pub(super) fn of_all(pids: &[u32]) -> BTreeMap<u32, SeenThread> {
    let all = numbers(pids).into_iter();
    all.filter_map(|(pid, id)| Some((id, used(pid, id)?)))
        .collect()
}

/// Watches the threads of this process.
#[derive(Debug)]
pub struct OwnThreads {
    begun_ns: u64,
    opened: BTreeMap<u32, SeenThread>,
}

impl OwnThreads {
    /// Begins the window.
    #[must_use]
    pub fn open() -> Self {
        Self {
            begun_ns: clock::monotonic_ns(),
            opened: own(),
        }
    }

    /// Ends the window and returns, for the thread with the highest demand for a CPU, the share of
    /// the window, 0 to 1, in which it was ready to run but had no CPU.
    #[must_use]
    pub fn ready_share(self) -> f64 {
        let passed_ns = clock::monotonic_ns().saturating_sub(self.begun_ns).max(1);
        let used = between(&self.opened, own()).into_iter();
        let busiest = used.max_by_key(|thread| thread.running_ns + thread.ready_ns);
        let ready_ns = busiest.map_or(0, |thread| thread.ready_ns);
        (ready_ns as f64 / passed_ns as f64).min(1.0)
    }
}

fn own() -> BTreeMap<u32, SeenThread> {
    let own = std::process::id();
    let all = ids_of(own).filter_map(|id| Some((id, used(own, id)?)));
    all.collect()
}

fn used(pid: u32, id: u32) -> Option<SeenThread> {
    let folder = format!("/proc/{pid}/task/{id}");
    let text = |file: &str| kernel_file::text(format!("{folder}/{file}"));
    let (stat, status) = (ProcessStat::parse(&text("stat")?)?, text("status")?);
    let (running_ns, ready_ns) = scheduled(pid, id).unwrap_or_default();
    let count = |name| behind(&status, name).and_then(|value| value.parse().ok());
    let cpus = Tree::of_this_machine().allowed_cpus(&status);
    Some(SeenThread {
        pid,
        id,
        name: behind(&status, "Name:").unwrap_or_default().to_owned(),
        running_ns,
        ready_ns,
        user_ns: stat.user_ticks * TICK_NS,
        system_ns: stat.system_ticks * TICK_NS,
        waits: count("voluntary_ctxt_switches:").unwrap_or(0),
        preemptions: count("nonvoluntary_ctxt_switches:").unwrap_or(0),
        cpus: cpus.map_or(0, |cpus| u32::try_from(cpus.len()).unwrap_or(u32::MAX)),
    })
}

/// What the threads used between two readings. A thread that began in between counts from its
/// start; of one that ended nothing is known.
pub(super) fn between(
    opened: &BTreeMap<u32, SeenThread>,
    closed: BTreeMap<u32, SeenThread>,
) -> Vec<SeenThread> {
    let none = SeenThread::default();
    let since = |end: SeenThread| {
        let begin = opened.get(&end.id).unwrap_or(&none);
        SeenThread {
            running_ns: end.running_ns.saturating_sub(begin.running_ns),
            ready_ns: end.ready_ns.saturating_sub(begin.ready_ns),
            user_ns: end.user_ns.saturating_sub(begin.user_ns),
            system_ns: end.system_ns.saturating_sub(begin.system_ns),
            waits: end.waits.saturating_sub(begin.waits),
            preemptions: end.preemptions.saturating_sub(begin.preemptions),
            ..end
        }
    };
    let used = closed.into_values().map(since);
    used.filter(|thread| thread.running_ns + thread.ready_ns > 0)
        .collect()
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
