//! The processes on the hosts of a rig. They are found by the rig's namespaces and ended, even if
//! they have detached themselves from the process that started them.

use std::io;
use std::time::Duration;

use sys::namespace::{NetworkNamespace, UtsNamespace, network_inode_of, uts_inode_of};
use sys::pidfd::{self, EndSignal};

use super::holder::HeldHost;
use crate::process_stat::ProcessStat;
use crate::targets;

/// The variable by which the programs of a rig know that they are in it.
pub const MARK: &str = "LINERATE_RIG";

/// How long a program may take to end in an orderly way.
pub(super) const GRACE: Duration = Duration::from_secs(2);
/// Longest wait for a killed process. The kernel ends it at once, unless it waits for a disk.
pub(super) const LONGEST_END: Duration = Duration::from_secs(10);

/// The processes of a rig: where they are looked for, and which of them are its own.
#[derive(Debug)]
pub(super) struct Inside {
    /// The rig's network namespaces that still exist. They are kept open, so their inodes stay
    /// theirs.
    places: Vec<NetworkNamespace>,
    ours: Ours,
    /// The process that holds the namespaces. It is in both kinds of them, and is no program of the
    /// rig.
    holder: Option<u32>,
}

/// Which processes were started on the rig. Whatever `rig exec` starts is in the UTS namespace of
/// the rig, with all its descendants. A program can lose its environment, its user and its session,
/// and can leave the network namespaces, but it stays in this one.
#[derive(Debug)]
enum Ours {
    /// All processes in the UTS namespace, wherever else they are. It is kept open, so its inode is
    /// its own.
    InUts(UtsNamespace),
    /// The processes in `places` whose UTS namespace has this inode. The inode alone is no proof,
    /// as the kernel may have given it to another namespace.
    ThereInUts(u64),
    /// All processes in `places`: the rig is ours alone, and so is every process in it.
    All,
}

/// The result of ending all processes of the rig.
#[derive(Debug)]
pub(super) struct Ended {
    /// Processes of the rig that have ended.
    pub(super) ended: Vec<u32>,
    /// Processes that are still there.
    pub(super) kept_by: Vec<u32>,
}

impl Inside {
    /// Processes in the namespaces of a living holder.
    pub(super) fn of_holder(holder: u32, hosts: &[HeldHost], uts_namespace: u64) -> Self {
        let open = |host: &HeldHost| {
            let held = NetworkNamespace::held_by(holder, host.descriptor);
            held.ok().filter(|held| has_inode(held, host.namespace))
        };
        let uts = UtsNamespace::of(holder).ok();
        let uts = uts.filter(|uts| is_inode(uts.inode(), uts_namespace));
        Self {
            places: hosts.iter().filter_map(open).collect(),
            ours: uts.map_or(Ours::ThereInUts(uts_namespace), Ours::InUts),
            holder: Some(holder),
        }
    }

    /// Processes of a rig, for its holder itself.
    pub(super) fn of_uts(holder: u32, uts: UtsNamespace) -> Self {
        Self {
            places: Vec::new(),
            ours: Ours::InUts(uts),
            holder: Some(holder),
        }
    }

    /// Processes on one host of a rig that is ours alone.
    pub(super) fn of_host(holder: u32, place: NetworkNamespace) -> Self {
        Self {
            places: vec![place],
            ours: Ours::All,
            holder: Some(holder),
        }
    }

    /// Processes in the namespaces that a dead holder has left, which the processes in them keep
    /// alive.
    pub(super) fn left(hosts: &[HeldHost], uts_namespace: u64) -> Self {
        Self {
            places: hosts.iter().filter_map(left_of).collect(),
            ours: Ours::ThereInUts(uts_namespace),
            holder: None,
        }
    }

    /// No processes: there are no namespaces to look in.
    pub(super) fn nowhere() -> Self {
        Self {
            places: Vec::new(),
            ours: Ours::All,
            holder: None,
        }
    }

    /// Returns the rig's own processes, and all others in its network namespaces.
    pub(super) fn all(&self) -> Vec<u32> {
        let mut pids = targets::processes();
        pids.retain(|pid| (self.is_ours(*pid) || self.is_there(*pid)) && self.counts(*pid));
        pids
    }

    /// Returns the processes that were started there by `rig exec`, or by one of its descendants.
    pub(super) fn ours(&self) -> Vec<u32> {
        let mut pids = targets::processes();
        pids.retain(|pid| self.is_ours(*pid) && self.counts(*pid));
        pids
    }

    /// Whether a process counts. The holder does not, nor one that is ending, which still has its
    /// namespaces for a moment.
    fn counts(&self, pid: u32) -> bool {
        self.holder != Some(pid) && ProcessStat::of(pid).is_ok_and(|stat| !stat.is_ending())
    }

    fn is_there(&self, pid: u32) -> bool {
        let is_one = |inode| self.places.iter().any(|place| has_inode(place, inode));
        network_inode_of(pid).is_ok_and(is_one)
    }

    fn is_ours(&self, pid: u32) -> bool {
        match &self.ours {
            Ours::InUts(uts) => uts_inode_of(pid).is_ok_and(|inode| is_inode(uts.inode(), inode)),
            Ours::ThereInUts(uts) => is_inode(uts_inode_of(pid), *uts) && self.is_there(pid),
            Ours::All => self.is_there(pid),
        }
    }

    /// Ends the rig's processes. Asks them first, kills those that are left after the grace time,
    /// and waits until they are gone.
    pub(super) fn end(&self, grace: Duration) -> Ended {
        let mut found = Vec::new();
        for (order, within) in [(EndSignal::End, grace), (EndSignal::Kill, LONGEST_END)] {
            if self.end_by(order, within, &mut found) {
                break;
            }
        }
        let kept_by = self.all();
        found.retain(|pid| !kept_by.contains(pid));
        found.sort_unstable();
        found.dedup();
        Ended {
            ended: found,
            kept_by,
        }
    }

    /// Sends the signal to each of the rig's processes, including those that appear in that time.
    /// Returns whether all are gone.
    fn end_by(&self, order: EndSignal, within: Duration, found: &mut Vec<u32>) -> bool {
        let begun = found.len();
        sys::clock::wait_until(within, || {
            let ours = self.ours();
            for pid in &ours {
                if !found[begun..].contains(pid) {
                    self.send(*pid, order);
                    found.push(*pid);
                }
            }
            ours.is_empty()
        })
    }

    /// Sends the signal, unless the process has ended by now.
    fn send(&self, pid: u32, order: EndSignal) {
        if let Ok(process) = pidfd::open_any(pid)
            && self.is_ours(pid)
            && self.counts(pid)
        {
            let _ = pidfd::send(process, order);
        }
    }
}

/// Opens the namespace that a dead holder's host has left, by way of a process in it. An inode
/// alone proves nothing once its namespace may be gone, since it is given out again.
fn left_of(host: &HeldHost) -> Option<NetworkNamespace> {
    let cookie = host.cookie?;
    let is_there = |pid: &u32| network_inode_of(*pid).is_ok_and(|inode| inode == host.namespace);
    let opened = targets::processes().into_iter().filter(is_there);
    let mut opened = opened.filter_map(|pid| NetworkNamespace::of(pid).ok());
    opened.find(|place| place.cookie().is_ok_and(|found| found == cookie))
}

fn has_inode(place: &NetworkNamespace, inode: u64) -> bool {
    is_inode(place.inode(), inode)
}

fn is_inode(found: io::Result<u64>, inode: u64) -> bool {
    found.is_ok_and(|found| found == inode)
}
