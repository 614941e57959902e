//! Processes that put changes back when nobody else may come to do it. Each is this program, out of
//! reach of the end of whoever started it, of his terminal and of his login.

use std::fs;
use std::io;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

const OURSELVES: &str = "/proc/self/exe";
/// What makes this program the guard of an entry, whose number follows.
const OF_AN_ENTRY: &str = "revert";
/// What makes it the guard of all that a process holds, whose number follows.
const OF_A_PROCESS: &str = "revert-after";

/// Starts the process that puts an entry back in time unless it is confirmed.
///
/// # Errors
/// Those of starting a process.
pub fn start_guard(id: u64) -> io::Result<()> {
    start(OF_AN_ENTRY, &id.to_string())
}

/// Starts the process that puts back what this one holds when it ends, however that comes; once.
///
/// # Errors
/// Those of starting a process.
pub(super) fn guard_what_is_held() -> io::Result<()> {
    static STARTED: OnceLock<()> = OnceLock::new();
    if STARTED.get().is_none() {
        start(OF_A_PROCESS, &std::process::id().to_string())?;
        STARTED.get_or_init(|| ());
    }
    Ok(())
}

fn start(role: &str, number: &str) -> io::Result<()> {
    let mut command = Command::new(OURSELVES);
    command
        .args(["levers", role, number])
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    sys::process::detach(&mut command);
    let guard = command.spawn()?;
    // Where it must stay in the login, it is as safe as that.
    let _ = leave_login(guard.id());
    Ok(())
}

/// Takes a process out of the login that it was started from: a systemd that ends a login with all
/// its processes (`KillUserProcesses=` of logind.conf(5)) knows them by their control group.
///
/// # Errors
/// What the kernel refused, as to others than root; where no such groups are mounted there is none.
fn leave_login(pid: u32) -> io::Result<()> {
    for root in sys::cgroup::roots_of_logins()? {
        match fs::write(root.join("cgroup.procs"), pid.to_string()) {
            // What else is mounted over it hides it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            moved => moved?,
        }
    }
    Ok(())
}
