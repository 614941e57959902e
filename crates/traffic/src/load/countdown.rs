//! A fixed number of requests, shared by all workers of a block.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The requests of a block that are left. All workers take from it, so that none is left with a
/// share of its own when the others are done.
#[derive(Debug)]
pub(super) struct Countdown {
    to_begin: AtomicU64,
    to_end: AtomicU64,
    /// When a worker last had a connection, ns on the monotonic clock; at first the start of the
    /// block.
    alive_ns: AtomicU64,
    /// When the last request ended; `u64::MAX` before.
    over_ns: AtomicU64,
}

impl Countdown {
    pub(super) fn new(requests: u64) -> Self {
        Self {
            to_begin: AtomicU64::new(requests),
            to_end: AtomicU64::new(requests),
            alive_ns: AtomicU64::new(0),
            over_ns: AtomicU64::new(u64::MAX),
        }
    }

    /// Takes one request to begin; false when none is left.
    pub(super) fn take(&self) -> bool {
        let one_less = |left: u64| left.checked_sub(1);
        self.to_begin
            .fetch_update(Relaxed, Relaxed, one_less)
            .is_ok()
    }

    /// Whether every request has been begun.
    pub(super) fn is_spent(&self) -> bool {
        self.to_begin.load(Relaxed) == 0
    }

    /// Counts a request that was taken and has now ended.
    pub(super) fn ended(&self, now_ns: u64) {
        if self.to_end.fetch_sub(1, Relaxed) == 1 {
            self.end(now_ns);
        }
    }

    /// Ends the block, whatever is left.
    fn end(&self, now_ns: u64) {
        self.over_ns.fetch_min(now_ns, Relaxed);
    }

    /// Returns when the block was over; `u64::MAX` before.
    pub(super) fn over_ns(&self) -> u64 {
        self.over_ns.load(Relaxed)
    }

    /// Starts the patience for a connection: a block begins only where some worker has one.
    pub(super) fn begin(&self, start_ns: u64) {
        self.alive_ns.fetch_max(start_ns, Relaxed);
    }

    /// Notes whether a worker has a connection, or had one since its last call. Ends the block when
    /// no worker has had one for the patience, because nothing else would ever end it.
    pub(super) fn look_after(&self, had_connection: bool, now_ns: u64, patience_ns: u64) {
        if had_connection {
            self.alive_ns.fetch_max(now_ns, Relaxed);
        } else if now_ns > self.alive_ns.load(Relaxed).saturating_add(patience_ns) {
            self.end(now_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_are_taken_as_there_are_and_the_last_to_end_ends_the_block() {
        let countdown = Countdown::new(2);
        assert!(countdown.take() && countdown.take() && !countdown.take());
        countdown.ended(5);
        assert!(countdown.is_spent() && countdown.over_ns() == u64::MAX);
        countdown.ended(7);
        assert_eq!(countdown.over_ns(), 7);
    }

    #[test]
    fn a_block_without_any_connection_ends_after_the_patience_and_not_before() {
        let countdown = Countdown::new(1);
        countdown.begin(95);
        countdown.look_after(false, 105, 10);
        countdown.look_after(true, 106, 10);
        countdown.look_after(false, 116, 10);
        assert_eq!(countdown.over_ns(), u64::MAX);
        countdown.look_after(false, 117, 10);
        assert_eq!(countdown.over_ns(), 117);
    }
}
