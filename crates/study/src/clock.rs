//! Time as the study sees it, so that a test can bring its own.

/// A clock that only goes forward.
pub trait Clock {
    /// Since some start of its own.
    fn now_ms(&self) -> u64;
}

/// The machine's clock.
pub struct Monotonic(std::time::Instant);

impl Default for Monotonic {
    fn default() -> Self {
        Self(std::time::Instant::now())
    }
}

impl Clock for Monotonic {
    fn now_ms(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}
