//! CPU time of a program whose threads and processes come and go. For each process, the kernel also
//! keeps the time of its threads that have ended, and of its children that have ended and were
//! waited for.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use sys::clock;

use crate::cpu_ticks::TICK_NS;
use crate::process_stat::ProcessStat;
use crate::targets;

/// With more processes than this, they are not all read at each moment, but only when they are
/// listed again.
const MOST_AT_ONCE: usize = 8;
/// `ESRCH`: it ended between the opening of its file and the reading.
const NO_SUCH_PROCESS: i32 = 3;

/// CPU time that some processes and their descendants use from the start of the watch on.
#[derive(Debug, Default)]
pub(super) struct TimeWatch {
    pids: Vec<u32>,
    /// Whether any of them could be read.
    is_seen: bool,
    /// When the watch began, ticks since boot: a process that started later counts from its first
    /// tick.
    begun_ticks: u64,
    /// All known processes, as of their last reading.
    last: BTreeMap<u32, ProcessStat>,
    /// Ticks used in the processes' own code and in the kernel. A process that is read before its
    /// parent, and is then waited for, counts twice until the next reading; in the other order it
    /// does not count at all. So a sum may be below zero for a while.
    used_ticks: [i64; 2],
    /// When all processes that were asked for were first seen to have ended.
    ended_ns: Option<u64>,
}

impl TimeWatch {
    pub(super) fn begin(pids: &[u32]) -> Self {
        let mut watch = Self {
            pids: pids.to_vec(),
            begun_ticks: clock::since_boot_ms() * 1_000_000 / TICK_NS,
            ..Self::default()
        };
        watch.list();
        watch.is_seen = !watch.last.is_empty();
        watch
    }

    /// Reads all processes that exist now, and the known ones whose parent has ended.
    pub(super) fn list(&mut self) {
        let mut all = targets::family(&self.pids);
        all.extend(self.last.keys());
        self.read(&all);
    }

    /// Reads the processes again and says whether all that were asked for have ended.
    pub(super) fn has_ended(&mut self) -> bool {
        if self.ended_ns.is_none() {
            self.follow();
            self.ended_ns = self.is_over().then(clock::monotonic_ns);
        }
        self.ended_ns.is_some()
    }

    pub(super) fn ended_ns(&self) -> Option<u64> {
        self.ended_ns
    }

    /// Reads the known processes. With many of them it first checks only whether the program still
    /// runs, which costs less.
    fn follow(&mut self) {
        let is_many = self.last.len() > MOST_AT_ONCE;
        if !(is_many && self.pids.iter().any(|pid| targets::is_alive(*pid))) {
            let known: BTreeSet<u32> = self.last.keys().copied().collect();
            self.read(&known);
        }
    }

    /// Whether all processes that were asked for had ended at the last reading.
    fn is_over(&self) -> bool {
        let runs = |pid: &u32| self.last.get(pid).is_some_and(|stat| !stat.is_over());
        self.is_seen && !self.pids.iter().any(runs)
    }

    /// Ends the watch: the time used in the processes' own code and in the kernel, ns; `None` where
    /// no process could be read.
    pub(super) fn end(mut self) -> Option<[u64; 2]> {
        if self.ended_ns.is_none() {
            self.list();
        }
        let ns = |ticks: i64| u64::try_from(ticks).unwrap_or(0).saturating_mul(TICK_NS);
        self.is_seen.then(|| self.used_ticks.map(ns))
    }

    /// Adds what these processes used since they were last read. Known processes that are not among
    /// them have ended.
    fn read(&mut self, pids: &BTreeSet<u32>) {
        let read = pids.iter().filter_map(|pid| Some((*pid, self.stat(*pid)?)));
        let now: BTreeMap<u32, ProcessStat> = read.collect();
        let last = std::mem::take(&mut self.last);
        for (pid, stat) in &now {
            match last.get(pid).filter(|was| is_same(was, stat)) {
                Some(was) => {
                    self.add(was, -1);
                    self.add(stat, 1);
                }
                None if stat.started_ticks > self.begun_ticks => self.add(stat, 1),
                // It was overlooked before, so what it had used when the watch began is unknown.
                None => {}
            }
        }
        for (pid, was) in &last {
            let went = now.get(pid).is_none_or(|stat| !is_same(was, stat));
            // Its parent's counters now include all that it used.
            if went && has_heir(was, &last, &now) {
                self.add(was, -1);
            }
        }
        self.last = now;
    }

    /// Reads a process; `None` where it has ended and was waited for.
    fn stat(&self, pid: u32) -> Option<ProcessStat> {
        match ProcessStat::of(pid) {
            Ok(stat) => Some(stat),
            Err(error) if has_gone(&error) => None,
            // A failed reading does not mean that it has ended.
            Err(_) => self.last.get(&pid).copied(),
        }
    }

    fn add(&mut self, stat: &ProcessStat, sign: i64) {
        let user = stat.user_ticks.saturating_add(stat.waited_user_ticks);
        let system = stat.system_ticks.saturating_add(stat.waited_system_ticks);
        for (sum, ticks) in self.used_ticks.iter_mut().zip([user, system]) {
            let ticks = i64::try_from(ticks).unwrap_or(i64::MAX);
            *sum = sum.saturating_add(ticks.saturating_mul(sign));
        }
    }
}

fn has_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(NO_SUCH_PROCESS)
}

/// Whether two readings are of one process: the kernel uses process numbers again.
fn is_same(one: &ProcessStat, other: &ProcessStat) -> bool {
    one.started_ticks == other.started_ticks
}

/// Whether an ancestor still exists. Its counters include those of its descendants that have ended
/// and were waited for.
fn has_heir(
    was: &ProcessStat,
    last: &BTreeMap<u32, ProcessStat>,
    now: &BTreeMap<u32, ProcessStat>,
) -> bool {
    let parent_of = |pid: &u32| last.get(pid).map(|it| it.parent);
    let ancestors = std::iter::successors(Some(was.parent), parent_of);
    let mut ancestors = ancestors.take(last.len() + 1);
    ancestors.any(|pid| now.contains_key(&pid))
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(20);
    const ENOUGH_NS: u64 = 200_000_000;
    /// Tolerance: the kernel reports times in whole ticks, and the shell itself takes some.
    const NEAR_NS: u64 = 60_000_000;

    fn used_ns(pid: u32) -> u64 {
        clock::process_cpu_ns(pid).unwrap_or(0)
    }

    #[test]
    fn what_a_child_used_that_has_ended_is_counted_once_and_not_what_it_had_used_before() {
        let script = "sh -c 'while :; do :; done'; echo over; read word";
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).stderr(Stdio::null());
        let mut shell = shell
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let pid = shell.id();
        let child = || targets::children_of(pid).first().copied().unwrap_or(0);
        assert!(clock::wait_until(LIMIT, || child() > 0 && used_ns(child()) > ENOUGH_NS));
        let child = child();
        let before_ns = used_ns(child);
        let mut watch = TimeWatch::begin(&[pid]);
        let begun_ns = used_ns(child);
        assert!(clock::wait_until(LIMIT, || used_ns(child) > begun_ns + ENOUGH_NS));
        watch.list();
        assert!(!watch.has_ended());
        let kill = Command::new("kill")
            .args(["-KILL", &child.to_string()])
            .status();
        assert!(kill.unwrap().success());
        let mut word = String::new();
        let mut output = BufReader::new(shell.stdout.take().unwrap());
        output.read_line(&mut word).unwrap();
        let stat = ProcessStat::of(pid).unwrap();
        let all_ns = (stat.waited_user_ticks + stat.waited_system_ticks) * TICK_NS;
        let used_ns: u64 = watch.end().unwrap().iter().sum();
        drop(shell.stdin.take());
        shell.wait().unwrap();
        assert!(used_ns + NEAR_NS > all_ns - begun_ns, "{used_ns} {all_ns}");
        assert!(used_ns < all_ns - before_ns + NEAR_NS, "{used_ns} {all_ns}");
    }

    #[test]
    fn what_a_thread_used_that_has_ended_is_counted() {
        let watch = TimeWatch::begin(&[std::process::id()]);
        let spins = || {
            let begun_ns = clock::thread_cpu_ns();
            while clock::thread_cpu_ns() - begun_ns < ENOUGH_NS {}
        };
        std::thread::spawn(spins).join().unwrap();
        let used_ns: u64 = watch.end().unwrap().iter().sum();
        assert!(used_ns + NEAR_NS > ENOUGH_NS, "{used_ns}");
    }

    #[test]
    fn nothing_is_known_of_processes_that_were_never_there_and_they_have_not_ended() {
        let mut watch = TimeWatch::begin(&[0x3f_ffff]);
        assert!(!watch.has_ended());
        assert_eq!(watch.end(), None);
    }
}
