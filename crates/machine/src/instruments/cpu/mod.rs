//! CPU time during a block, by who spent it: target, kernel threads, others.

pub mod series;

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use model::reading::{Counts, CpuReading, MachineCpu};
use sys::clock;

use crate::cpu_ticks::{self, CpuTicks};
use crate::{pressure, targets};

/// Bytes to read: more than the first line of `/proc/stat` or all of `/proc/pressure/cpu`.
const READ_BYTES: usize = 512;

/// Reads the CPU time of a set of processes, of their children and of the rest of the machine at
/// both ends of a window. Files stay open between the two readings; a reading costs tens of µs.
#[derive(Debug)]
pub struct CpuWatch {
    targets: Vec<u32>,
    ksoftirqd: Vec<u32>,
    stat: Option<File>,
    pressure: Option<File>,
    opened: Sample,
    closed: Sample,
}

/// Reads the time of all CPUs and none of processes: two reads of a file that stays open.
#[derive(Debug)]
pub struct MachineWatch {
    stat: Option<File>,
    opened: Option<CpuTicks>,
}

impl MachineWatch {
    /// Prepares to watch.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "it opens a file")]
    pub fn new() -> Self {
        Self {
            stat: File::open("/proc/stat").ok(),
            opened: None,
        }
    }

    /// Begins the window.
    pub fn open(&mut self) {
        self.opened = self.ticks();
    }

    /// CPU time spent since the window began; `None` where it is hidden.
    #[must_use]
    pub fn spent(&self) -> Option<MachineCpu> {
        between_ticks(self.opened, self.ticks())
    }

    fn ticks(&self) -> Option<CpuTicks> {
        read(self.stat.as_ref()).and_then(|text| cpu_ticks::parse(&text))
    }
}

/// The counters at one end of the window.
#[derive(Debug, Default)]
struct Sample {
    /// When the target's time was read: the middle of a reading that took `took_ns`.
    at_ns: u64,
    took_ns: u64,
    /// CPU time of each process of the target and of its children.
    target: Vec<(u32, u64)>,
    ksoftirqd_ns: u64,
    ticks: Option<CpuTicks>,
    waited_us: Option<u64>,
}

impl CpuWatch {
    /// Prepares to watch the processes of a target; the list is empty where the target is remote.
    #[must_use]
    pub fn new(targets: &[u32]) -> Self {
        Self {
            targets: targets.to_vec(),
            ksoftirqd: ksoftirqd(),
            stat: File::open("/proc/stat").ok(),
            pressure: File::open("/proc/pressure/cpu").ok(),
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

    /// The differences over the window. Length of the window and time of the client come from the
    /// load generator, which knows them exactly.
    #[must_use]
    pub fn reading(&self, window_ns: u64, client_ns: u64, client_busy_share: f64) -> CpuReading {
        let counts = self.counts(window_ns);
        CpuReading {
            server_ns: counts.server_ns,
            client_ns,
            ksoftirqd_ns: counts.ksoftirqd_ns,
            foreign_ns: counts.foreign_ns(client_ns),
            machine: counts.machine,
            client_busy_share,
            client_occupied_share: None,
            psi_some_share: counts.psi_some_share,
            server_window_ns: None,
            missed_before: 0,
        }
    }

    /// The rise of each counter in the window, whose length is `window_ns`.
    #[must_use]
    pub fn counts(&self, window_ns: u64) -> Counts {
        self.between(&self.opened, &self.closed, window_ns)
    }

    /// The rise of each counter from one sample to another that is `window_ns` later.
    fn between(&self, opened: &Sample, closed: &Sample, window_ns: u64) -> Counts {
        Counts {
            window_ns,
            server_ns: spent(&self.targets, &opened.target, &closed.target),
            ksoftirqd_ns: closed.ksoftirqd_ns.saturating_sub(opened.ksoftirqd_ns),
            machine: between_ticks(opened.ticks, closed.ticks),
            psi_some_share: waiting_share(opened.waited_us, closed.waited_us, window_ns),
        }
    }

    fn sample(&self) -> Sample {
        let begun_ns = clock::monotonic_ns();
        let target = target_ns(&self.targets);
        let ended_ns = clock::monotonic_ns();
        Sample {
            at_ns: u64::midpoint(begun_ns, ended_ns),
            took_ns: ended_ns - begun_ns,
            target,
            ksoftirqd_ns: self
                .ksoftirqd
                .iter()
                .filter_map(|pid| clock::process_cpu_ns(*pid).ok())
                .sum(),
            ticks: read(self.stat.as_ref()).and_then(|text| cpu_ticks::parse(&text)),
            waited_us: read(self.pressure.as_ref())
                .and_then(|text| pressure::parse(&text))
                .map(|pressure| pressure.some_total_us),
        }
    }
}

/// CPU time that the target's processes spent. A child that appeared within the window counts from
/// its start. `None` without a target, or where one of its processes can no longer be read.
fn spent(targets: &[u32], opened: &[(u32, u64)], closed: &[(u32, u64)]) -> Option<u64> {
    let at = |sample: &[(u32, u64)], wanted: u32| {
        sample
            .iter()
            .find(|(pid, _)| *pid == wanted)
            .map(|(_, spent_ns)| *spent_ns)
    };
    let all_read = targets
        .iter()
        .all(|pid| at(opened, *pid).is_some() && at(closed, *pid).is_some());
    if targets.is_empty() || !all_read {
        return None;
    }
    let each = closed
        .iter()
        .map(|(pid, end)| end.saturating_sub(at(opened, *pid).unwrap_or(0)));
    Some(each.sum())
}

/// CPU time of all CPUs between two readings.
fn between_ticks(opened: Option<CpuTicks>, closed: Option<CpuTicks>) -> Option<MachineCpu> {
    Some(closed?.since(opened?).machine)
}

fn waiting_share(opened: Option<u64>, closed: Option<u64>, window_ns: u64) -> Option<f64> {
    let waited_ns = closed?.saturating_sub(opened?) * 1_000;
    (window_ns > 0).then(|| (waited_ns as f64 / window_ns as f64).min(1.0))
}

/// CPU time of the processes and of all their descendants.
fn target_ns(targets: &[u32]) -> Vec<(u32, u64)> {
    let with_time = |pid| Some((pid, clock::process_cpu_ns(pid).ok()?));
    let processes = targets::family(targets).into_iter();
    processes.filter_map(with_time).collect()
}

/// The kernel threads, one per CPU, that finish network work which interrupts left over.
fn ksoftirqd() -> Vec<u32> {
    let is_one = |pid: &u32| {
        let comm = sys::kernel_file::text(format!("/proc/{pid}/comm"));
        comm.is_some_and(|comm| comm.starts_with("ksoftirqd/"))
    };
    targets::processes().into_iter().filter(is_one).collect()
}

/// Reads the beginning of a file that stays open.
fn read(file: Option<&File>) -> Option<String> {
    let mut buffer = [0; READ_BYTES];
    let length = file?.read_at(&mut buffer, 0).ok()?;
    Some(String::from_utf8_lossy(&buffer[..length]).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_target_is_what_it_spent_between_opening_and_closing() {
        let mut watch = CpuWatch::new(&[std::process::id()]);
        watch.open();
        let begun = clock::thread_cpu_ns();
        while clock::thread_cpu_ns() - begun < 20_000_000 {}
        watch.close();
        let reading = watch.reading(20_000_000, 0, 0.0);
        assert!(reading.server_ns.unwrap() >= 20_000_000);
        assert!(reading.foreign_ns.is_some());
    }

    #[test]
    fn a_child_process_belongs_to_the_target() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let seen = target_ns(&[std::process::id()]);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(seen.iter().any(|(pid, _)| *pid == child.id()));
    }

    #[test]
    fn without_a_target_or_with_one_that_is_gone_its_time_is_unknown() {
        assert_eq!(spent(&[], &[], &[]), None);
        assert_eq!(spent(&[7], &[(7, 10)], &[]), None);
        assert_eq!(spent(&[7], &[(7, 10)], &[(7, 40), (8, 5)]), Some(35));
        let mut watch = CpuWatch::new(&[0x3f_ffff]);
        watch.open();
        watch.close();
        let reading = watch.reading(1, 2, 0.5);
        assert_eq!((reading.server_ns, reading.foreign_ns), (None, None));
        assert_eq!((reading.client_ns, reading.client_busy_share), (2, 0.5));
    }

    #[test]
    fn what_the_machine_did_is_known_where_both_ends_are() {
        let ticks = |softirq_ns| {
            let machine = MachineCpu {
                softirq_ns,
                ..MachineCpu::default()
            };
            Some(CpuTicks {
                machine,
                idle_ns: 0,
            })
        };
        let spent = between_ticks(ticks(10), ticks(30)).unwrap();
        assert_eq!((spent.softirq_ns, spent.busy_ns()), (20, 20));
        assert_eq!(between_ticks(None, ticks(11)), None);
    }

    #[test]
    fn waiting_is_a_share_of_the_window() {
        assert_eq!(waiting_share(Some(100), Some(600), 1_000_000), Some(0.5));
        assert_eq!(waiting_share(Some(0), Some(u64::MAX / 2000), 1), Some(1.0));
        assert_eq!(waiting_share(None, Some(1), 1), None);
    }
}
