//! Time as the study sees it. It is a trait so that a test can bring its own clock.

use std::time::{Instant, SystemTime};

/// A clock that only goes forward.
pub trait Clock: Sync {
    /// Time since a start that the clock chooses, ns.
    fn now_ns(&self) -> u64;

    /// Time since a start that the clock chooses, ms.
    fn now_ms(&self) -> u64 {
        self.now_ns() / 1_000_000
    }

    /// The time of the wall clock, for the record.
    fn wall(&self) -> SystemTime;
}

/// The machine's clock.
pub struct Monotonic(Instant);

#[expect(
    clippy::disallowed_methods,
    reason = "a study talks to agents and has no arrow to `sys`, where clocks are read"
)]
impl Default for Monotonic {
    fn default() -> Self {
        Self(Instant::now())
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a study talks to agents and has no arrow to `sys`, where clocks are read"
)]
impl Clock for Monotonic {
    fn now_ns(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn wall(&self) -> SystemTime {
        SystemTime::now()
    }
}
