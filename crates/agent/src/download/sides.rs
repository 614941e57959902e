//! Reads the counters of a side's processes at the two ends of a window.

use machine::instruments::cpu::CpuWatch;
use machine::instruments::threads::ThreadWatch;
use model::failure::Failure;
use model::reading::MachineCpu;
use sys::clock;

use super::Side;

/// The counters of one side.
pub(super) struct SideWatch {
    cpus: Vec<usize>,
    cpu: CpuWatch,
    threads: ThreadWatch,
    opened_ns: u64,
    closed_ns: u64,
}

impl SideWatch {
    pub(super) fn new(pids: &[u32], cpus: &[usize]) -> Self {
        Self {
            cpus: cpus.to_vec(),
            cpu: CpuWatch::new(pids),
            threads: ThreadWatch::new(pids),
            opened_ns: 0,
            closed_ns: 0,
        }
    }

    /// Reads all counters in one order at both ends, so that all windows are of one length.
    pub(super) fn open(&mut self) {
        self.threads.open();
        self.cpu.open();
        self.opened_ns = clock::monotonic_ns();
    }

    pub(super) fn close(&mut self) {
        self.threads.close();
        self.cpu.close();
        self.closed_ns = clock::monotonic_ns();
    }

    pub(super) fn window_ns(&self) -> u64 {
        (self.closed_ns - self.opened_ns).max(1)
    }

    /// What its processes spent; `name` is the name of the side in messages.
    pub(super) fn spent(&self, name: &str) -> Result<Side, Failure> {
        let window_ns = self.window_ns();
        // To that instrument the watched processes are the server, whichever side they are.
        let cpu_ns = self
            .cpu
            .counts(window_ns)
            .server_ns
            .ok_or_else(|| Failure {
                what: format!("the CPU time of the {name} could not be read"),
                advice: "one of its processes ended within the window".to_owned(),
            })?;
        let all_cpus_ns = window_ns as f64 * self.cpus.len().max(1) as f64;
        let of_all = cpu_ns as f64 / all_cpus_ns;
        let of_one = self.threads.busiest_share().unwrap_or(0.0);
        Ok(Side {
            cpus: self.cpus.clone(),
            cpu_ns,
            busy_share: of_all.max(of_one).min(1.0),
        })
    }

    /// What all CPUs of its machine did.
    pub(super) fn machine(&self) -> Option<MachineCpu> {
        self.cpu.counts(self.window_ns()).machine
    }

    /// Share of the time of all CPUs, 0 to 1, that others used: neither its processes, nor the
    /// kernel's network threads, nor the other side on this machine, which used `beside_ns`.
    pub(super) fn others_share(&self, beside_ns: u64) -> Option<f64> {
        let window_ns = self.window_ns();
        let others_ns = self.cpu.counts(window_ns).foreign_ns(beside_ns)?;
        let online = sys::kernel_file::text("/sys/devices/system/cpu/online")?;
        let cpus = sys::cpu::parse_list(&online).ok()?.len();
        // In a short window, ticks may add up to more time than there was.
        Some((others_ns as f64 / (window_ns as f64 * cpus as f64)).min(1.0))
    }
}
