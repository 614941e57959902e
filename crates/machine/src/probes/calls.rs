//! What the kernel takes for a call that does nothing, and how late it wakes who sleeps.

use sys::clock;
use sys::epoll::{Epoll, Events};

use super::ProbeError;

/// Calls of one value: milliseconds.
const CALLS: u32 = 20_000;
/// Short sleeps of one value, of which the middle one counts.
const SLEEPS: usize = 21;
const SLEEP_NS: u64 = 200_000;

/// One system call that does nothing but tell a number (`geteuid`), ns.
pub(super) fn call_ns() -> f64 {
    let begun_ns = clock::monotonic_ns();
    for _ in 0..CALLS {
        std::hint::black_box(sys::user::ours());
    }
    (clock::monotonic_ns() - begun_ns) as f64 / f64::from(CALLS)
}

/// How much later than asked for a sleep of 200 µs ends, ns, with the slack that timers of this thread have.
pub(super) fn overshoot_ns() -> Result<f64, ProbeError> {
    let epoll = Epoll::new().map_err(ProbeError::Line)?;
    let mut events = Events::with_capacity(1);
    let mut sleep = || {
        let begun_ns = clock::monotonic_ns();
        let slept = epoll.wait(&mut events, Some(SLEEP_NS));
        let passed_ns = clock::monotonic_ns() - begun_ns;
        slept.map_err(ProbeError::Line)?;
        Ok(passed_ns.saturating_sub(SLEEP_NS))
    };
    let mut late_ns = (0..SLEEPS)
        .map(|_| sleep())
        .collect::<Result<Vec<u64>, ProbeError>>()?;
    late_ns.sort_unstable();
    Ok(late_ns[SLEEPS / 2] as f64)
}
