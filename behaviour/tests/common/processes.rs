//! Programs that a test starts, and the processes of the machine.

use std::fmt::Display;
use std::io::{BufRead as _, BufReader, Read};
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

/// A program that is killed when the test ends, even if it fails.
pub(crate) struct Ours(pub(crate) Child);

impl Deref for Ours {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Ours {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The first line of the output of a process that goes on.
pub(crate) fn line_of(output: Option<impl Read>) -> String {
    let mut line = String::new();
    BufReader::new(output.unwrap())
        .read_line(&mut line)
        .unwrap();
    line
}

/// Sends a signal, by its name without SIG, to a process that must be there.
#[track_caller]
pub(crate) fn signal(name: &str, pid: impl Display) {
    signal_all(name, &[pid]);
}

/// Sends a signal to several processes by one command, in the given order.
#[track_caller]
pub(crate) fn signal_all(name: &str, pids: &[impl Display]) {
    let mut kill = Command::new("kill");
    kill.args(["-s", name]);
    kill.args(pids.iter().map(ToString::to_string));
    assert!(kill.status().unwrap().success(), "{kill:?}");
}

/// Waits up to a minute until a condition holds, which takes far less on a machine at rest.
#[track_caller]
pub(crate) fn wait_for(what: &str, holds: impl FnMut() -> bool) {
    let has_happened = sys::clock::wait_until(Duration::from_secs(60), holds);
    assert!(has_happened, "it does not happen: {what}");
}

/// Whether a process still runs. One that has ended stays in `/proc` until somebody has waited for
/// it.
pub(crate) fn is_alive(pid: impl Display) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after_name = stat.rsplit(") ").next();
    let state = after_name.and_then(|rest| rest.chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

/// The ids of all processes.
pub(crate) fn all() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The processes whose working folder is this one or below it.
pub(crate) fn working_in(folder: &Path) -> Vec<u32> {
    let works_here = |pid: &u32| {
        let here = std::fs::read_link(format!("/proc/{pid}/cwd"));
        here.is_ok_and(|here| here.starts_with(folder))
    };
    all().filter(works_here).collect()
}

/// The children of a process, in the order in which it started them; none where the process is
/// gone.
pub(crate) fn children(pid: impl Display) -> Vec<u32> {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let children = children.unwrap_or_default();
    let pids = children.split_whitespace();
    pids.map(|pid| pid.parse().unwrap()).collect()
}

/// All descendants of a process.
pub(crate) fn offspring(pid: u32) -> Vec<u32> {
    let children = children(pid).into_iter();
    children
        .flat_map(|pid| [vec![pid], offspring(pid)].concat())
        .collect()
}
