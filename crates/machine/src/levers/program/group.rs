//! A control group for one program, with its own CPU weight.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use sys::cgroup::{Controller, Group, Hierarchy};
use sys::kernel_file;

use crate::journal::Owner;

/// Prefix of the names of our groups. The PID of their maker and a number follow. Only the mark on
/// a group, which names the maker, tells that the group is ours.
const PREFIX: &str = "linerate-";
/// `cpu.shares` of version 1 for a weight of 100, by systemd's conversion.
const SHARES_OF_100: u32 = 1024;

/// A control group of ours. Dropping it removes the group, if no process is left in it.
pub(super) struct OwnGroup {
    folder: PathBuf,
    pub(super) processes: Arc<OwnedFd>,
}

impl OwnGroup {
    /// Makes a group with a weight, below the group of this process or beside it.
    ///
    /// # Errors
    /// `EACCES` or `EROFS` if we may not make groups. Says why if no group can have a weight.
    pub(super) fn make(weight: u32) -> io::Result<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let current = current()?;
        let home = home(&current)?;
        remove(home, |maker| !maker.is_alive());
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let folder = home.join(format!("{PREFIX}{}-{number}", std::process::id()));
        fs::create_dir(&folder).map_err(|error| at(&folder, &error))?;
        // A group without a mark is still removed when we end; only if we are killed does it stay.
        let _ = Owner::this_process().and_then(|maker| sys::mark::write(&folder, &words(maker)));
        let filled = fill(&folder, current.version(), weight);
        // A group without its weight is of no use.
        filled.inspect_err(|_| drop(fs::remove_dir(&folder)))
    }
}

impl Drop for OwnGroup {
    fn drop(&mut self) {
        // A process that is still in the group keeps it there. Once it is empty, and we have ended,
        // the next group made here removes it.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Removes the groups that a process has made, which must have ended. Returns whether none is left.
///
/// # Errors
/// If the control groups cannot be found.
pub fn sweep_after(maker: u32) -> io::Result<bool> {
    let current = current()?;
    Ok(remove(home(&current)?, |of| of.pid == maker))
}

/// Reads the weight of the group that a process is in.
pub(super) fn weight_of(pid: u32) -> io::Result<u32> {
    let group = Group::of_process(pid, Controller::Cpu).ok_or_else(no_controller)?;
    let file = group.folder().join(weight_file(group.version()));
    let held = kernel_file::number(&file).ok_or_else(|| {
        let what = format!("the control group of process {pid} has no weight");
        io::Error::new(io::ErrorKind::Unsupported, what)
    })?;
    Ok(match group.version() {
        Hierarchy::One => weight_of_shares(held),
        Hierarchy::Two => held,
    })
}

fn fill(folder: &Path, version: Hierarchy, weight: u32) -> io::Result<OwnGroup> {
    let number = match version {
        Hierarchy::One => shares_of_weight(weight),
        Hierarchy::Two => weight,
    };
    let file = folder.join(weight_file(version));
    fs::write(&file, number.to_string()).map_err(|error| at(&file, &error))?;
    let file = folder.join("cgroup.procs");
    let processes = File::options().write(true).open(&file);
    let processes = processes.map_err(|error| at(&file, &error))?;
    Ok(OwnGroup {
        folder: folder.to_owned(),
        processes: Arc::new(OwnedFd::from(processes)),
    })
}

fn current() -> io::Result<Group> {
    Group::of_this_process(Controller::Cpu).ok_or_else(no_controller)
}

/// Returns the folder in which a group with a weight may be made. In version 2 a group either hands
/// the CPU controller down or holds processes, never both (except the root). There the new group is
/// therefore made beside the group of this process.
fn home(current: &Group) -> io::Result<&Path> {
    let hands_down = |folder: &Path| {
        let handed = kernel_file::text(folder.join("cgroup.subtree_control"));
        handed.is_some_and(|handed| handed.split_whitespace().any(|name| name == "cpu"))
    };
    if current.version() == Hierarchy::One {
        return Ok(current.folder());
    }
    let mut homes = [Some(current.folder()), current.parent()]
        .into_iter()
        .flatten();
    homes.find(|folder| hands_down(folder)).ok_or_else(|| {
        let what = format!(
            "{} hands the CPU controller to no group, and that is not ours to change; \
             systemd-run --scope -p CPUWeight=WEIGHT has systemd do it",
            current.folder().display()
        );
        io::Error::new(io::ErrorKind::Unsupported, what)
    })
}

/// Removes empty groups of ours whose maker is meant. Returns whether none of them is left.
fn remove(home: &Path, is_meant: impl Fn(Owner) -> bool) -> bool {
    let entries = fs::read_dir(home).into_iter().flatten().flatten();
    let meant = entries
        .map(|entry| entry.path())
        .filter(|folder| maker_of(folder).is_some_and(&is_meant));
    meant
        .filter(|folder| fs::remove_dir(folder).is_err())
        .count()
        == 0
}

/// The text of a group's mark: PID and start time of its maker.
fn words(maker: Owner) -> String {
    format!("{} {}", maker.pid, maker.started_ticks)
}

/// Returns the process that made a group; `None` if the group is not ours.
fn maker_of(folder: &Path) -> Option<Owner> {
    let words = sys::mark::read(folder)?;
    let (pid, started_ticks) = words.split_once(' ')?;
    Some(Owner {
        pid: pid.parse().ok()?,
        started_ticks: started_ticks.parse().ok()?,
    })
}

fn weight_file(version: Hierarchy) -> &'static str {
    match version {
        Hierarchy::One => "cpu.shares",
        Hierarchy::Two => "cpu.weight",
    }
}

fn shares_of_weight(weight: u32) -> u32 {
    (weight * SHARES_OF_100 + 50) / 100
}

fn weight_of_shares(shares: u32) -> u32 {
    // The kernel has at most 262,144 (`MAX_SHARES` of kernel/sched/sched.h).
    (shares.saturating_mul(100).saturating_add(SHARES_OF_100 / 2)) / SHARES_OF_100
}

fn no_controller() -> io::Error {
    let what = "no control groups with a CPU controller are mounted here";
    io::Error::new(io::ErrorKind::Unsupported, what)
}

/// Adds the file's path to an error, and keeps its kind.
fn at(file: &Path, error: &io::Error) -> io::Error {
    let what = format!("{}: {}", file.display(), crate::errno::errno(error));
    io::Error::new(error.kind(), what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_weight_comes_back_from_the_shares_that_it_is_made_of() {
        for weight in 1..=10_000 {
            assert_eq!(weight_of_shares(shares_of_weight(weight)), weight);
        }
        assert_eq!(shares_of_weight(100), 1024);
        assert_eq!(weight_of_shares(262_144), 25_600);
    }
}
