//! Where the workers wait for one another, so that all of them start at one moment.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Barrier, OnceLock};

/// Passed once by each worker, whether it is ready or not: one that could not start must not
/// leave the others waiting.
pub(super) struct Gate {
    barrier: Barrier,
    broken: AtomicBool,
    open_connections: AtomicU64,
    attempts: AtomicU64,
    start_ns: OnceLock<u64>,
    /// When the block was cut short; `u64::MAX` while it was not.
    cut_ns: AtomicU64,
}

/// What the gate said.
pub(super) enum Passage {
    /// Everybody starts now, which is this moment of the monotonic clock.
    Start { start_ns: u64 },
    /// No thread has a single connection.
    Nobody { attempts: u64 },
    /// Some thread could not start.
    Broken,
}

impl Gate {
    pub(super) fn new(threads: u32) -> Self {
        Self {
            barrier: Barrier::new(threads as usize),
            broken: AtomicBool::new(false),
            open_connections: AtomicU64::new(0),
            attempts: AtomicU64::new(0),
            start_ns: OnceLock::new(),
            cut_ns: AtomicU64::new(u64::MAX),
        }
    }

    /// Ends the block for everybody at this moment.
    pub(super) fn cut_short(&self, now_ns: u64) {
        self.cut_ns.fetch_min(now_ns, Ordering::Relaxed);
    }

    /// When the block was cut short; `u64::MAX` while it was not.
    pub(super) fn cut_ns(&self) -> u64 {
        self.cut_ns.load(Ordering::Relaxed)
    }

    /// Waits for all, having so many connections open after so many attempts.
    pub(super) fn pass(&self, open: u64, attempts: u64) -> Passage {
        self.open_connections.fetch_add(open, Ordering::Relaxed);
        self.attempts.fetch_add(attempts, Ordering::Relaxed);
        // The barrier's lock orders these counters for everyone behind it.
        self.barrier.wait();
        if self.broken.load(Ordering::Relaxed) {
            return Passage::Broken;
        }
        if self.open_connections.load(Ordering::Relaxed) == 0 {
            return Passage::Nobody {
                attempts: self.attempts.load(Ordering::Relaxed),
            };
        }
        Passage::Start {
            start_ns: *self.start_ns.get_or_init(sys::clock::monotonic_ns),
        }
    }

    /// Tells the others that this worker cannot start.
    pub(super) fn break_off(&self) {
        self.broken.store(true, Ordering::Relaxed);
        self.barrier.wait();
    }
}
