//! Which processes the kernel spares when it kills for lack of memory.

use std::fs;
use std::io;

/// Spares this process (`oom_score_adj` of proc_pid_oom_score_adj(5)), and what it starts.
///
/// # Errors
/// `EACCES` without `CAP_SYS_RESOURCE`.
pub fn spare_this() -> io::Result<()> {
    fs::write("/proc/self/oom_score_adj", "-1000")
}

/// Spares a process, but lets nothing that it has started spare itself. Unlike `oom_score_adj`,
/// this older file leaves the minimum unchanged that processes without privilege may set for
/// themselves (`__set_oom_adj` of fs/proc/base.c).
///
/// # Errors
/// `EACCES` without `CAP_SYS_RESOURCE`; `ENOENT` where there is no such process, or the kernel no
/// longer has this file.
pub fn spare(process: u32) -> io::Result<()> {
    fs::write(format!("/proc/{process}/oom_adj"), "-17")
}
