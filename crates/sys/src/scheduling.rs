//! How the kernel shares the CPU out to a process: its policy, its slice, its nice value.

use std::io;
use std::num::NonZeroU64;

use rustix::process::{getpriority_process, setpriority_process};
use rustix::thread::{current_timer_slack, set_current_timer_slack};

use crate::{check, process};

/// How a thread is scheduled (sched(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling {
    /// `SCHED_OTHER`, with the length of its slice, ns, where that is its own (Linux 6.12).
    Other { slice_ns: Option<u64> },
    /// `SCHED_BATCH`: treated as a program that computes; it preempts nobody when it wakes.
    Batch { slice_ns: Option<u64> },
    /// `SCHED_IDLE`: runs only when nobody else wants the CPU.
    Idle,
    /// `SCHED_FIFO` at a priority from 1 to 99: runs before all others, until it sleeps.
    Fifo(u8),
    /// `SCHED_RR`: as `SCHED_FIFO`, but in turns with others of its priority.
    RoundRobin(u8),
}

/// The shortest and the longest slice that the kernel gives, ns: it silently limits other values to
/// these (`__setparam_fair` in kernel/sched/fair.c).
pub const SLICE_NS: std::ops::RangeInclusive<u64> = 100_000..=100_000_000;

/// `struct sched_attr` of linux/sched/types.h in its first form.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
}

impl Scheduling {
    fn policy(self) -> libc::c_int {
        match self {
            Self::Other { .. } => libc::SCHED_OTHER,
            Self::Batch { .. } => libc::SCHED_BATCH,
            Self::Idle => libc::SCHED_IDLE,
            Self::Fifo(_) => libc::SCHED_FIFO,
            Self::RoundRobin(_) => libc::SCHED_RR,
        }
    }

    fn priority(self) -> u8 {
        match self {
            Self::Fifo(priority) | Self::RoundRobin(priority) => priority,
            Self::Other { .. } | Self::Batch { .. } | Self::Idle => 0,
        }
    }

    fn slice_ns(self) -> Option<u64> {
        match self {
            Self::Other { slice_ns } | Self::Batch { slice_ns } => slice_ns,
            Self::Idle | Self::Fifo(_) | Self::RoundRobin(_) => None,
        }
    }

    fn from_kernel(attr: &SchedAttr) -> Option<Self> {
        let slice_ns = (attr.runtime_ns > 0).then_some(attr.runtime_ns);
        let priority = u8::try_from(attr.priority).ok()?;
        match libc::c_int::try_from(attr.policy).ok()? {
            libc::SCHED_OTHER => Some(Self::Other { slice_ns }),
            libc::SCHED_BATCH => Some(Self::Batch { slice_ns }),
            libc::SCHED_IDLE => Some(Self::Idle),
            libc::SCHED_FIFO => Some(Self::Fifo(priority)),
            libc::SCHED_RR => Some(Self::RoundRobin(priority)),
            _ => None,
        }
    }
}

/// How a process is scheduled; 0 for the calling thread. Kernels that allow a slice to be set
/// report one (Linux 6.12), whoever has set it.
///
/// # Errors
/// `ESRCH` when it is gone, `EOPNOTSUPP` for any other policy (`SCHED_DEADLINE`).
pub fn of(pid: u32) -> io::Result<Scheduling> {
    let unknown = || io::Error::from_raw_os_error(libc::EOPNOTSUPP);
    Scheduling::from_kernel(&attributes(pid)?).ok_or_else(unknown)
}

/// The nice value of a process; 0 for the calling process.
///
/// # Errors
/// `ESRCH` when it is gone.
pub fn nice_of(pid: u32) -> io::Result<i32> {
    let pid = (pid != 0).then(|| process::number(pid)).transpose()?;
    Ok(getpriority_process(pid)?)
}

/// Sets the scheduling of the calling thread, and of what it forks and executes. Its nice value
/// stays.
///
/// # Errors
/// `EPERM` for a real-time policy without `CAP_SYS_NICE` or `RLIMIT_RTPRIO`, and for leaving
/// `SCHED_IDLE` where `RLIMIT_NICE` forbids it.
pub(crate) fn take_on(wanted: Scheduling) -> io::Result<()> {
    let attr = SchedAttr {
        policy: wanted.policy().unsigned_abs(),
        // Not kept: the flag that makes children ordinary again.
        flags: 0,
        priority: wanted.priority().into(),
        // 0 means the kernel's own slice.
        runtime_ns: wanted.slice_ns().unwrap_or(0),
        deadline_ns: 0,
        period_ns: 0,
        ..attributes(0)?
    };
    let this_thread: libc::c_long = 0;
    let no_flags: libc::c_long = 0;
    // SAFETY: `attr` is readable for the size that it contains.
    check(unsafe {
        libc::syscall(
            libc::SYS_sched_setattr,
            this_thread,
            &raw const attr,
            no_flags,
        )
    })?;
    Ok(())
}

/// Sets the nice value of the calling thread, and of what it forks and executes.
///
/// # Errors
/// `EACCES` for a lower value than now without `CAP_SYS_NICE` or `RLIMIT_NICE`.
pub(crate) fn take_on_nice(nice: i32) -> io::Result<()> {
    Ok(setpriority_process(None, nice)?)
}

/// How late the timers of the calling thread may wake it, ns.
///
/// # Errors
/// None are known.
pub fn timer_slack_ns() -> io::Result<u64> {
    Ok(current_timer_slack()?)
}

/// Sets how late the timers of the calling thread, and of children it forks later, may wake it. The
/// default of 50 µs saves wake-ups; 1 ns is the least, and 0 means the default.
///
/// # Errors
/// None are known.
pub fn set_timer_slack_ns(slack_ns: u64) -> io::Result<()> {
    Ok(set_current_timer_slack(NonZeroU64::new(slack_ns))?)
}

/// Lets the calling thread run before all ordinary ones whenever it has something to do
/// (`SCHED_FIFO` at its lowest priority, sched(7)). Children that it forks are ordinary again.
///
/// # Errors
/// `EPERM` without `CAP_SYS_NICE`, or where `RLIMIT_RTPRIO` is 0.
pub fn go_first() -> io::Result<()> {
    let lowest = libc::sched_param { sched_priority: 1 };
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: `lowest` is readable for the length of the call; 0 means the calling thread.
    check(unsafe { libc::sched_setscheduler(0, policy, &raw const lowest) })?;
    Ok(())
}

fn attributes(pid: u32) -> io::Result<SchedAttr> {
    let mut attr = SchedAttr::default();
    let size = size_of::<SchedAttr>();
    let no_flags: libc::c_long = 0;
    // SAFETY: `attr` is writable for `size` bytes, its own size, and holds numbers alone.
    check(unsafe {
        libc::syscall(
            libc::SYS_sched_getattr,
            libc::c_ulong::from(pid),
            &raw mut attr,
            size,
            no_flags,
        )
    })?;
    Ok(attr)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_that_was_taken_on_is_what_the_kernel_tells() {
        std::thread::spawn(|| {
            take_on_nice(nice_of(0).unwrap()).unwrap();
            for wanted in [Scheduling::Batch { slice_ns: None }, Scheduling::Idle] {
                take_on(wanted).unwrap();
                assert_eq!(of(0).unwrap().policy(), wanted.policy());
            }
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_process_that_is_gone_is_an_error_and_no_answer() {
        const NOBODY: u32 = 0x3fff_ffff;
        assert_eq!(of(NOBODY).unwrap_err().raw_os_error(), Some(libc::ESRCH));
        let no_nice = nice_of(NOBODY).unwrap_err();
        assert_eq!(no_nice.raw_os_error(), Some(libc::ESRCH));
    }
}
