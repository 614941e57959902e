//! Clocks: monotonic and wall time, and the CPU time of threads and processes; and waiting for a
//! condition.
//!
//! This is the only place that reads them. Other code takes time as an argument or asks here, so
//! that one search finds every reading.
#![expect(
    clippy::disallowed_methods,
    reason = "this is what everybody else is to call instead"
)]

use std::io;
use std::time::{Duration, Instant, SystemTime};

use rustix::io::Errno;
use rustix::thread::{ClockId, clock_nanosleep_absolute};
use rustix::time::Timespec;

use crate::check;

/// Time since an arbitrary start that never goes back (`CLOCK_MONOTONIC`, by the vDSO).
#[inline]
pub fn monotonic_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC).unwrap_or(0)
}

/// The monotonic clock in the standard library's type, for timeouts.
pub fn now() -> Instant {
    Instant::now()
}

/// The wall clock, which may be set and may go back.
pub fn wall() -> SystemTime {
    SystemTime::now()
}

/// The wall clock as ns since 1970, as the kernel stamps packets with it.
#[inline]
pub fn wall_ns() -> u64 {
    read(libc::CLOCK_REALTIME).unwrap_or(0)
}

/// How far the wall clock is ahead of the monotonic one, ns, modulo 2⁶⁴. If it is interrupted
/// between the two readings, it repeats them, a few times.
pub fn wall_ahead_ns() -> u64 {
    const NEAR_NS: u64 = 1_000;
    let mut nearest = wall_and_monotonic();
    for _ in 0..7 {
        if nearest.0 <= NEAR_NS {
            break;
        }
        nearest = nearest.min(wall_and_monotonic());
    }
    nearest.1
}

/// Returns how long the two readings took, and how far the wall clock is ahead in their middle, ns.
fn wall_and_monotonic() -> (u64, u64) {
    let before_ns = monotonic_ns();
    let wall_ns = wall_ns();
    let apart_ns = monotonic_ns() - before_ns;
    (apart_ns, wall_ns.wrapping_sub(before_ns + apart_ns / 2))
}

/// Time since this machine was started, sleep included (`CLOCK_BOOTTIME`).
pub fn since_boot_ms() -> u64 {
    read(libc::CLOCK_BOOTTIME).unwrap_or(0) / 1_000_000
}

/// Sleeps until that time of [`since_boot_ms`], which goes on while the machine sleeps.
///
/// # Errors
/// `EINVAL` for a time beyond what the kernel can hold.
pub fn sleep_until_since_boot_ms(at_ms: u64) -> io::Result<()> {
    let whole = |value: u64| i64::try_from(value).map_err(io::Error::other);
    let at = Timespec {
        tv_sec: whole(at_ms / 1000)?,
        tv_nsec: whole(at_ms % 1000 * 1_000_000)?,
    };
    loop {
        match clock_nanosleep_absolute(ClockId::Boottime, &at) {
            Err(Errno::INTR) => {}
            slept => return Ok(slept?),
        }
    }
}

/// Sleeps until that time of [`monotonic_ns`], for sending on a schedule. Returns at once for a
/// time that has passed.
pub fn sleep_until_ns(at_ns: u64) {
    let at = Timespec {
        tv_sec: i64::try_from(at_ns / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(at_ns % 1_000_000_000).unwrap_or(0),
    };
    while clock_nanosleep_absolute(ClockId::Monotonic, &at) == Err(Errno::INTR) {}
}

/// Pause between two checks by [`wait_until`].
const SHORTEST_PAUSE: Duration = Duration::from_millis(2);
/// Longest pause between two checks by [`wait_for_long`].
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// Checks every 2 ms whether the condition holds, until it does or `limit` has passed; returns
/// whether it held. For conditions that the kernel gives no descriptor to wait on.
pub fn wait_until(limit: Duration, holds: impl FnMut() -> bool) -> bool {
    wait(limit, |_| SHORTEST_PAUSE, holds)
}

/// Waits like [`wait_until`], for a condition that may take long and is expensive to check: the
/// pauses grow with the time waited.
pub fn wait_for_long(limit: Duration, holds: impl FnMut() -> bool) -> bool {
    wait(limit, pause_after, holds)
}

/// Length of the next pause. So the condition is noticed at most 2 ms too late, or a sixteenth of
/// the time that it took.
fn pause_after(waited: Duration) -> Duration {
    (waited / 16).clamp(SHORTEST_PAUSE, LONGEST_PAUSE)
}

fn wait(
    limit: Duration,
    pause_after: impl Fn(Duration) -> Duration,
    mut holds: impl FnMut() -> bool,
) -> bool {
    let begun = now();
    loop {
        if holds() {
            return true;
        }
        let waited = now() - begun;
        if waited >= limit {
            return false;
        }
        std::thread::sleep(pause_after(waited));
    }
}

/// Rate of the processor's time stamp counter, kHz, measured over `time`. `None` on processors
/// without one.
pub fn counter_khz(time: Duration) -> Option<u64> {
    let (begin_ns, begin) = nearest_counter()?;
    wait_until(time, || false);
    let (end_ns, end) = nearest_counter()?;
    let cycles = u128::from(end.checked_sub(begin)?) * 1_000_000;
    let passed_ns = u128::from(end_ns.checked_sub(begin_ns)?);
    u64::try_from(cycles.checked_div(passed_ns)?).ok()
}

/// Reads the clock and the counter together: of several readings, the one with the least time
/// between them.
fn nearest_counter() -> Option<(u64, u64)> {
    let readings = (0..16).filter_map(|_| {
        let before_ns = monotonic_ns();
        let counter = counter()?;
        let apart_ns = monotonic_ns() - before_ns;
        Some((apart_ns, before_ns + apart_ns / 2, counter))
    });
    readings.min().map(|(_, at_ns, counter)| (at_ns, counter))
}

#[cfg(target_arch = "x86_64")]
fn counter() -> Option<u64> {
    // SAFETY: every x86-64 processor has the instruction, and Linux lets programs use it.
    Some(unsafe { std::arch::x86_64::_rdtsc() })
}

#[cfg(not(target_arch = "x86_64"))]
fn counter() -> Option<u64> {
    None
}

/// CPU time that the calling thread has used.
pub fn thread_cpu_ns() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0)
}

/// CPU time that all threads of a process have used, exact to the moment of the call, unlike
/// `/proc/PID/schedstat`, which lags behind by up to a tick for a running thread.
///
/// # Errors
/// `EINVAL` when there is no such process.
pub fn process_cpu_ns(pid: u32) -> io::Result<u64> {
    // The encoding of clock_getcpuclockid(3), as in the kernel's include/linux/posix-timers_types.h:
    // the complement of the process in the upper 29 bits, CPUCLOCK_SCHED = 2 in the lower three.
    const CPUCLOCK_SCHED: libc::clockid_t = 2;
    let pid = libc::pid_t::try_from(pid).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
    read((!pid << 3) | CPUCLOCK_SCHED)
}

fn read(clock: libc::clockid_t) -> io::Result<u64> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid, writable timespec for the length of the call.
    check(unsafe { libc::clock_gettime(clock, &raw mut time) })?;
    Ok(nanoseconds(time))
}

fn nanoseconds(time: libc::timespec) -> u64 {
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000
        + u64::try_from(time.tv_nsec).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_clock_counts_the_work_of_its_threads() {
        let before = process_cpu_ns(std::process::id()).unwrap();
        let busy = std::thread::spawn(|| {
            let begun = thread_cpu_ns();
            while thread_cpu_ns() - begun < 5_000_000 {}
        });
        busy.join().unwrap();
        assert!(process_cpu_ns(std::process::id()).unwrap() - before >= 5_000_000);
    }

    #[test]
    fn what_takes_long_is_asked_seldom_and_what_is_soon_so_is_known_at_once() {
        let waits = |limit: Duration| {
            let next = |waited: &Duration| Some(*waited + pause_after(*waited));
            std::iter::successors(Some(Duration::ZERO), next).take_while(move |at| *at < limit)
        };
        let (moment, minute) = (Duration::from_millis(50), Duration::from_secs(60));
        assert!(waits(moment).count() > 20);
        let asked = waits(minute).count();
        assert!(asked < 700, "{asked} times");
        let is_near = |at: Duration| pause_after(at) <= SHORTEST_PAUSE.max(at / 16);
        assert!(waits(minute).all(is_near));
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_counters_rate_is_that_of_a_processor_and_the_same_each_time() {
        let rate = || counter_khz(Duration::from_millis(5)).unwrap() as f64;
        let (one, other) = (rate(), rate());
        assert!((1e5..1e7).contains(&one), "{one} kHz");
        assert!((one / other - 1.0).abs() < 0.01, "{one} and {other} kHz");
    }

    #[test]
    fn the_wall_clock_is_ahead_of_the_monotonic_one_by_what_lies_between_them() {
        let ahead_ns = wall_ahead_ns();
        let before_ns = monotonic_ns();
        let wall_ns = wall_ns();
        let after_ns = monotonic_ns();
        // A millisecond for a clock that is being slewed or a reading that was interrupted.
        let room_ns = 1_000_000;
        let as_monotonic_ns = wall_ns.wrapping_sub(ahead_ns);
        assert!((before_ns - room_ns..=after_ns + room_ns).contains(&as_monotonic_ns));
    }

    #[test]
    fn waiting_ends_when_the_condition_holds_and_else_at_the_limit() {
        let mut asked = 0;
        let third_time = || {
            asked += 1;
            asked == 3
        };
        assert!(wait_until(Duration::from_secs(60), third_time));
        assert_eq!(asked, 3);
        let begun = now();
        assert!(!wait_until(Duration::from_millis(20), || false));
        assert!(begun.elapsed() >= Duration::from_millis(20));
    }

    #[test]
    fn a_process_that_does_not_exist_is_an_error() {
        assert_eq!(
            process_cpu_ns(0x3f_ffff).unwrap_err().raw_os_error(),
            Some(libc::EINVAL)
        );
    }
}
