//! Guard processes: they put changes back when nobody else may come to do it. Each runs this
//! program, and survives the end of the process that started it, of its terminal and of its login.

use std::fs;
use std::io;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

const OURSELVES: &str = "/proc/self/exe";
/// Subcommand that makes this program the guard of one entry; the entry's id follows.
const OF_AN_ENTRY: &str = "revert";
/// Subcommand that makes it the guard of all that a process holds; the process number follows.
const OF_A_PROCESS: &str = "revert-after";

/// Starts the process that puts an entry back at the end of its trial unless it is confirmed.
///
/// # Errors
/// Those of starting a process.
pub fn start_guard(id: u64) -> io::Result<()> {
    start(OF_AN_ENTRY, &id.to_string())
}

/// Starts, once only, the process that puts back what this process holds when it ends, however that
/// happens.
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
    // Where it must stay in the login, it lasts only as long as the login does.
    let _ = leave_login(guard.id());
    Ok(())
}

/// Moves a process out of the login that started it. When systemd ends a login with all its
/// processes (`KillUserProcesses=` of logind.conf(5)), it finds them by their control group.
///
/// # Errors
/// What the kernel refused, as it does for users other than root; none where no such groups are
/// mounted.
fn leave_login(pid: u32) -> io::Result<()> {
    for root in sys::cgroup::roots_of_logins()? {
        match fs::write(root.join("cgroup.procs"), pid.to_string()) {
            // Another file system is mounted over it and hides it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            moved => moved?,
        }
    }
    Ok(())
}
