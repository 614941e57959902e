//! Reads a target's counters at intervals while the agent of another host loads it.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use machine::instruments::cpu::series::CpuSeries;

/// A thread that goes on reading the counters. Dropping this ends it.
pub(crate) struct Counting {
    stop: Sender<()>,
    thread: JoinHandle<CpuSeries>,
}

impl Counting {
    /// Reads the counters of these processes now and every `interval_ms` from now on. The reading
    /// thread runs on `cpus`, which are not those of the target, whose time is what is counted.
    pub(crate) fn begin(pids: &[u32], interval_ms: u32, cpus: &[usize]) -> Self {
        let (stop, stopped) = mpsc::channel();
        let interval = Duration::from_millis(interval_ms.max(1).into());
        let cpus = cpus.to_vec();
        let mut series = CpuSeries::new(pids);
        series.read();
        let thread = std::thread::spawn(move || {
            // Where the thread cannot be pinned, it disturbs the target a little.
            let _ = sys::cpu::pin(&cpus);
            while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                series.read();
            }
            series.read();
            series
        });
        Self { stop, thread }
    }

    /// Ends the readings and returns them.
    pub(crate) fn end(self) -> CpuSeries {
        drop(self.stop);
        self.thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
