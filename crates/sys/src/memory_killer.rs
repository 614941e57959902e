//! Whom the kernel spares when it kills for want of memory.

use std::fs;
use std::io;

/// Spares this process (`oom_score_adj` of proc_pid_oom_score_adj(5)), and what it starts.
///
/// # Errors
/// `EACCES` without `CAP_SYS_RESOURCE`.
pub fn spare_this() -> io::Result<()> {
    fs::write("/proc/self/oom_score_adj", "-1000")
}

/// Spares a process, and lets nothing that it has started spare itself: unlike the other, this older file
/// leaves the least alone that those without privilege may give themselves (`__set_oom_adj` of
/// fs/proc/base.c).
///
/// # Errors
/// `EACCES` without `CAP_SYS_RESOURCE`; `ENOENT` where there is no such process, or no such file any more.
pub fn spare(process: u32) -> io::Result<()> {
    fs::write(format!("/proc/{process}/oom_adj"), "-17")
}
