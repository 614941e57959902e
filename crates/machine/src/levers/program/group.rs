//! A control group for one program, with a weight of its own on the CPU.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use sys::cgroup::{Controller, Group, Hierarchy};
use sys::kernel_file;

use crate::journal::Owner;

/// What the names of our groups begin with; the process that made it and a number follow. That a
/// group is ours is told by the mark on it, which says who made it.
const PREFIX: &str = "linerate-";
/// `cpu.shares` of version 1 for a weight of 100, as systemd converts them.
const SHARES_OF_100: u32 = 1024;

/// A group of ours. Dropping it takes it away, if nobody is in it any more.
pub(super) struct OwnGroup {
    folder: PathBuf,
    pub(super) processes: Arc<OwnedFd>,
}

impl OwnGroup {
    /// Makes one with a weight, below the group of this process or beside it.
    ///
    /// # Errors
    /// `EACCES` or `EROFS` where groups are not ours to make; says why where none can have a weight.
    pub(super) fn make(weight: u32) -> io::Result<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let current = current()?;
        let home = home(&current)?;
        remove(home, |maker| !maker.is_alive());
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let folder = home.join(format!("{PREFIX}{}-{number}", std::process::id()));
        fs::create_dir(&folder).map_err(|error| at(&folder, &error))?;
        // Without a mark it goes with us, or stays where we are killed.
        let _ = Owner::this_process().and_then(|maker| sys::mark::write(&folder, &words(maker)));
        let filled = fill(&folder, current.version(), weight);
        // Without its weight it is of no use.
        filled.inspect_err(|_| drop(fs::remove_dir(&folder)))
    }
}

impl Drop for OwnGroup {
    fn drop(&mut self) {
        // Whoever is still in it keeps it; the next that is made here takes it away.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Takes away the groups that a process has made, which must have ended; whether none is left.
///
/// # Errors
/// Where groups cannot be found.
pub fn sweep_after(maker: u32) -> io::Result<bool> {
    let current = current()?;
    Ok(remove(home(&current)?, |of| of.pid == maker))
}

/// The weight of the group that a process is in.
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

/// Where a group with a weight may be made: in version 2 a group hands the CPU controller down or
/// holds processes, never both (but for the root), so there it is beside that of this process.
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

/// Takes away empty groups of ours by their makers; whether none of those is left.
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

/// As it stands on a group.
fn words(maker: Owner) -> String {
    format!("{} {}", maker.pid, maker.started_ticks)
}

/// Who has made a group; `None` of one that is not ours.
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

/// With the file, and still of its kind.
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
