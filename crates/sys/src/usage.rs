//! What a child process used, as the kernel reports when it is waited for.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitStatus};

use crate::check;

/// Resources used by an ended child and its own ended children, from wait4(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    pub user_ns: u64,
    pub system_ns: u64,
    /// The most memory that any one of these processes held at once (`ru_maxrss`); never less than
    /// what the fork copied of the parent.
    pub peak_memory_bytes: u64,
    pub status: ExitStatus,
}

impl Usage {
    /// User and system time together.
    pub fn cpu_ns(&self) -> u64 {
        self.user_ns + self.system_ns
    }
}

/// Waits until a child ends and returns what it used.
///
/// # Errors
/// `ECHILD` when it was already waited for.
#[expect(
    clippy::needless_pass_by_value,
    reason = "nobody can wait for it again"
)]
pub fn wait(child: Child) -> io::Result<Usage> {
    let pid = libc::pid_t::try_from(child.id()).map_err(io::Error::other)?;
    let mut status = 0;
    // SAFETY: an all-zero rusage is valid: integers only.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to writable values that outlive the call.
    check(unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) })?;
    Ok(Usage {
        user_ns: nanoseconds(usage.ru_utime),
        system_ns: nanoseconds(usage.ru_stime),
        // Linux counts it in KiB.
        peak_memory_bytes: u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024,
        status: ExitStatus::from_raw(status),
    })
}

/// User and system time of the calling thread, ns.
///
/// # Errors
/// None are known.
pub fn of_thread() -> io::Result<[u64; 2]> {
    // SAFETY: an all-zero rusage is valid: integers only.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a writable value that outlives the call.
    check(unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) })?;
    Ok([usage.ru_utime, usage.ru_stime].map(nanoseconds))
}

fn nanoseconds(time: libc::timeval) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let microseconds = u64::try_from(time.tv_usec).unwrap_or(0);
    seconds * 1_000_000_000 + microseconds * 1000
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_child_that_worked_has_used_cpu_time() {
        let script = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
        let child = Command::new("sh").args(["-c", script]).spawn().unwrap();
        let usage = wait(child).unwrap();
        assert!(usage.cpu_ns() > 0 && usage.status.success(), "{usage:?}");
    }

    #[test]
    fn a_thread_that_works_by_itself_uses_user_time_and_one_that_calls_system_time() {
        let used = || of_thread().unwrap();
        let limit = std::time::Duration::from_secs(60);
        let begun = crate::clock::now();
        while used()[0] < 20_000_000 && begun.elapsed() < limit {}
        let before = used();
        assert!(before[0] >= 20_000_000, "{before:?}");
        let other = std::thread::spawn(used).join().unwrap();
        assert!(other[0] < before[0], "{other:?} of another thread");
    }

    #[test]
    fn the_peak_is_that_of_the_memory_a_child_touched() {
        let script = "head -c 40000000 /dev/zero | tail -c 40000000 >/dev/null";
        let child = Command::new("sh").args(["-c", script]).spawn().unwrap();
        let usage = wait(child).unwrap();
        assert!(usage.peak_memory_bytes > 40_000_000, "{usage:?}");
    }

    #[test]
    fn a_child_that_failed_is_told_from_one_that_did_well() {
        let child = Command::new("false").spawn().unwrap();
        assert!(!wait(child).unwrap().status.success());
    }
}
