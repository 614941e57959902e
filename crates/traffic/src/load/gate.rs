//! The gate at which workers wait for one another, so that all of them start at one moment.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Barrier, OnceLock};

/// A barrier that each worker passes once, whether it is ready or not: a worker that could not
/// start must not leave the others waiting.
pub(super) struct Gate {
    barrier: Barrier,
    broken: AtomicBool,
    open_connections: AtomicU64,
    attempts: AtomicU64,
    start_ns: OnceLock<u64>,
    /// When the block was cut short; `u64::MAX` as long as it was not.
    cut_ns: AtomicU64,
}

/// The result of waiting at the gate.
pub(super) enum Passage {
    /// All workers start, at this moment of the monotonic clock.
    Start { start_ns: u64 },
    /// No worker has a single connection.
    Nobody { attempts: u64 },
    /// Some worker could not start.
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

    /// Ends the block at this moment for all workers.
    pub(super) fn cut_short(&self, now_ns: u64) {
        self.cut_ns.fetch_min(now_ns, Ordering::Relaxed);
    }

    /// Returns when the block was cut short; `u64::MAX` as long as it was not.
    pub(super) fn cut_ns(&self) -> u64 {
        self.cut_ns.load(Ordering::Relaxed)
    }

    /// Waits for all workers. `open` and `attempts` are this worker's open connections and its
    /// attempts to connect.
    pub(super) fn pass(&self, open: u64, attempts: u64) -> Passage {
        self.open_connections.fetch_add(open, Ordering::Relaxed);
        self.attempts.fetch_add(attempts, Ordering::Relaxed);
        // The barrier's lock orders these counters for every thread that has passed it.
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
