//! All descendants of this process: orphans come back to it, and all can be ended.

use std::fs;
use std::io;
use std::time::Duration;

use rustix::process::{getpid, set_child_subreaper};

use crate::check;
use crate::clock;

/// Makes this process the new parent of descendants whose parent has ended, instead of process 1
/// (`PR_SET_CHILD_SUBREAPER`, Linux 3.4): however a descendant detaches itself, it stays in reach.
///
/// # Errors
/// None are known.
pub fn adopt_orphans() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Waits for adopted children that have ended, so that they do not stay as zombies. The child `own`
/// is left to whoever waits for it.
pub fn reap_orphans(own: u32) {
    while let Some(pid) = ended_child() {
        if pid.unsigned_abs() == own {
            break;
        }
        reap(pid);
    }
}

/// Kills all children, and their children as they come back to us, until there are none. Returns
/// `false` when some are still there at the limit. For a process of one thread that adopts orphans
/// and no longer waits for any of its children itself.
pub fn end_all(limit: Duration) -> bool {
    clock::wait_until(limit, || {
        for child in children() {
            // SAFETY: no pointers. A child that was not waited for keeps its number.
            unsafe { libc::kill(child, libc::SIGKILL) };
        }
        while let Some(pid) = ended_child() {
            reap(pid);
        }
        has_no_child()
    })
}

/// The children of this thread, from proc_pid_children(5); none where the kernel does not list
/// them.
fn children() -> Vec<libc::pid_t> {
    let text = fs::read_to_string("/proc/thread-self/children").unwrap_or_default();
    let numbers = text.split_whitespace();
    numbers.filter_map(|number| number.parse().ok()).collect()
}

/// Returns the number of a child that has ended and was not waited for.
fn ended_child() -> Option<libc::pid_t> {
    let found = look(libc::P_ALL, 0).ok()?;
    (found != 0).then_some(found)
}

fn has_no_child() -> bool {
    look(libc::P_ALL, 0).is_err()
}

/// Whether a child of ours has ended. It can still be waited for, and so keeps its number.
///
/// # Errors
/// `ECHILD` when it was waited for already.
pub(crate) fn child_has_ended(pid: u32) -> io::Result<bool> {
    Ok(look(libc::P_PID, pid)? != 0)
}

/// Returns the number of an ended child among those selected, 0 for none. The child can still be
/// waited for.
fn look(kind: libc::idtype_t, id: libc::id_t) -> io::Result<libc::pid_t> {
    // SAFETY: an all-zero siginfo_t is valid, and the kernel leaves its pid 0 where no child has
    // ended.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let flags = libc::WEXITED | libc::WNOWAIT | libc::WNOHANG;
    // SAFETY: `info` is writable and lives through the call.
    check(unsafe { libc::waitid(kind, id, &raw mut info, flags) })?;
    // SAFETY: waitid fills the fields of SIGCHLD, of which the pid is one.
    Ok(unsafe { info.si_pid() })
}

fn reap(pid: libc::pid_t) {
    // SAFETY: a null status is allowed. It does not matter if it was waited for elsewhere.
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), libc::WNOHANG) };
}
