//! Attributes that a thread sets on itself and passes on to what it executes: how it is scheduled,
//! how late its timers may be, how many files it may open, how it speculates.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::Arc;

use rustix::process::{
    Resource, SpeculationFeature, SpeculationFeatureControl, control_speculative_feature,
};
use rustix::thread::disable_transparent_huge_pages;

use crate::scheduling::{self, Scheduling};
use crate::scheduling::{set_timer_slack_ns, timer_slack_ns};
use crate::{cgroup, cpu, process};

/// An attribute with the value that it is to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attribute {
    Scheduling(Scheduling),
    /// Nice value, from -20, which runs most, to 19.
    Nice(i32),
    /// How late timers may wake the thread, ns; at least 1.
    TimerSlackNs(u64),
    /// The CPUs that the thread may run on.
    Cpus(Vec<usize>),
    /// Both limits of open files, `RLIMIT_NOFILE`.
    OpenFiles(u64),
    /// Whether the processor may speculate in this way while the thread runs.
    Speculation(Flaw, bool),
    /// Whether it may be given transparent huge pages.
    HugePages(bool),
}

/// A flaw of processors that a program may be protected from, at the expense of speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// A load may run ahead of an older store to the same address (Spectre 4).
    StoreBypass,
    /// Other code may steer the prediction of indirect branches (Spectre 2).
    IndirectBranch,
}

impl Attribute {
    /// Sets the attribute on the calling thread. It makes only async-signal-safe calls and
    /// allocates nothing, so a child may call it between fork and exec.
    ///
    /// # Errors
    /// The kernel's refusal: `EPERM` or `EACCES` without the privilege, `ENXIO` and `ENODEV` for a
    /// flaw that the program may not decide on; `EOPNOTSUPP` where the kernel accepted a value and
    /// holds another.
    pub fn take_on(&self) -> io::Result<()> {
        match self {
            Self::Scheduling(wanted) => scheduling::take_on(*wanted),
            Self::Nice(nice) => scheduling::take_on_nice(*nice),
            Self::TimerSlackNs(slack_ns) => take_on_timer_slack(*slack_ns),
            Self::Cpus(cpus) => cpu::pin(cpus),
            Self::OpenFiles(count) => process::limit(Resource::Nofile, *count),
            Self::Speculation(flaw, is_allowed) => speculate(*flaw, *is_allowed),
            Self::HugePages(is_allowed) => Ok(disable_transparent_huge_pages(!is_allowed)?),
        }
    }

    /// Checks that a process started from here may set the attribute, by a child that sets it and
    /// ends.
    ///
    /// # Errors
    /// Those of [`Attribute::take_on`]; `EAGAIN` at the limit of processes.
    pub fn rehearse(self) -> io::Result<()> {
        rehearse(move || self.take_on())
    }
}

/// Checks that a process may enter a control group, by a child that enters it and ends.
///
/// # Errors
/// Those of [`cgroup::enter`]; `EAGAIN` at the limit of processes.
pub fn rehearse_entering(processes: Arc<OwnedFd>) -> io::Result<()> {
    rehearse(move || cgroup::enter(&processes))
}

/// Has a child run a step, which makes only async-signal-safe calls and allocates nothing.
fn rehearse(step: impl Fn() -> io::Result<()> + Send + Sync + 'static) -> io::Result<()> {
    let mut command = Command::new("/");
    let step_and_end = move || {
        step()?;
        // SAFETY: no pointers; the child ends at once, without the parent's exit handlers.
        unsafe { libc::_exit(0) }
    };
    // SAFETY: each caller's step makes only async-signal-safe calls and allocates nothing.
    unsafe { command.pre_exec(step_and_end) };
    let status = command.spawn()?.wait()?;
    if status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "the child that tried it ended with {status}"
    )))
}

/// Sets the timer slack. A real-time thread is given 0 whatever it asks for
/// (`__setscheduler_params` in kernel/sched/syscalls.c, Linux 6.13): its timers are exact.
fn take_on_timer_slack(slack_ns: u64) -> io::Result<()> {
    set_timer_slack_ns(slack_ns)?;
    match timer_slack_ns()? {
        0 => Ok(()),
        held_ns if held_ns == slack_ns => Ok(()),
        _ => Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)),
    }
}

fn speculate(flaw: Flaw, is_allowed: bool) -> io::Result<()> {
    let feature = match flaw {
        Flaw::StoreBypass => SpeculationFeature::SpeculativeStoreBypass,
        Flaw::IndirectBranch => SpeculationFeature::IndirectBranchSpeculation,
    };
    let control = match is_allowed {
        true => SpeculationFeatureControl::ENABLE,
        false => SpeculationFeatureControl::DISABLE,
    };
    Ok(control_speculative_feature(feature, control)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rehearsal_tells_what_would_be_refused_and_changes_nothing_here() {
        let before = timer_slack_ns().unwrap();
        Attribute::TimerSlackNs(before + 1).rehearse().unwrap();
        assert_eq!(timer_slack_ns().unwrap(), before);
        let refused = Attribute::Cpus(vec![]).rehearse().unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EINVAL));
    }
}
