//! A target's counters read every so often while another host's agent loads it.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use machine::instruments::cpu::series::CpuSeries;

/// Readings that go on in a thread of their own. Dropping it ends them.
pub(crate) struct Counting {
    stop: Sender<()>,
    thread: JoinHandle<CpuSeries>,
}

impl Counting {
    /// Reads the counters of these processes now and each `interval_ms` from now on, on these
    /// CPUs: not those of the target, whose time is what is counted.
    pub(crate) fn begin(pids: &[u32], interval_ms: u32, cpus: &[usize]) -> Self {
        let (stop, stopped) = mpsc::channel();
        let interval = Duration::from_millis(interval_ms.max(1).into());
        let cpus = cpus.to_vec();
        let mut series = CpuSeries::new(pids);
        series.read();
        let thread = std::thread::spawn(move || {
            // Where it may not choose its CPU, it disturbs the target a little.
            let _ = sys::cpu::pin(&cpus);
            while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                series.read();
            }
            series.read();
            series
        });
        Self { stop, thread }
    }

    /// Ends them.
    pub(crate) fn end(self) -> CpuSeries {
        drop(self.stop);
        self.thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
