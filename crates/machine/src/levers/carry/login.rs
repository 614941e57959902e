//! Out of a login: what is to put a change back must not end with it.

use std::fs;
use std::io;

/// Takes a process out of the login that it was started from: a systemd that ends a login with all
/// its processes (`KillUserProcesses=` of logind.conf(5)) knows them by their control group.
///
/// # Errors
/// What the kernel refused, as to others than root; where no such groups are mounted there is none.
pub(super) fn leave_login(pid: u32) -> io::Result<()> {
    for root in sys::cgroup::roots_of_logins()? {
        match fs::write(root.join("cgroup.procs"), pid.to_string()) {
            // What else is mounted over it hides it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            moved => moved?,
        }
    }
    Ok(())
}
