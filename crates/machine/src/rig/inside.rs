//! The processes that are on the hosts of a rig: found by its namespaces, however they have detached
//! themselves from whoever started them, and ended.

use std::io;
use std::time::Duration;

use sys::namespace::{NetworkNamespace, UtsNamespace, network_inode_of, uts_inode_of};
use sys::pidfd::{self, EndSignal};

use super::holder::HeldHost;
use crate::process_stat::ProcessStat;
use crate::targets;

/// The variable by which the programs of a rig know that they are in it.
pub const MARK: &str = "LINERATE_RIG";

/// How long a program has to put its things in order.
pub(super) const GRACE: Duration = Duration::from_secs(2);
/// The kernel ends what it is told to kill at once, unless that waits for a disk.
pub(super) const LONGEST_END: Duration = Duration::from_secs(10);

/// Where and what to look for.
#[derive(Debug)]
pub(super) struct Inside {
    /// The rig's network namespaces, as far as they are there: open, their inodes stay theirs.
    places: Vec<NetworkNamespace>,
    ours: Ours,
    /// The process that holds them, which is in both kinds and no program of the rig.
    holder: Option<u32>,
}

/// Which processes were started there: whatever `rig exec` starts is in the UTS namespace of the rig,
/// and what that starts: a program can lose its environment, its user and its session, and can leave
/// the network namespaces, and keeps this.
#[derive(Debug)]
enum Ours {
    /// All that are in the UTS namespace, wherever else they are. It is open, so its inode is its own.
    InUts(UtsNamespace),
    /// Of the places those with that inode as their UTS namespace: it may have been given out again.
    ThereInUts(u64),
    /// All that are in the places: the rig is ours alone, and everybody there with it.
    All,
}

/// What ending all of ours came to.
#[derive(Debug)]
pub(super) struct Ended {
    /// Ours that have ended.
    pub(super) ended: Vec<u32>,
    /// Whoever is still there.
    pub(super) kept_by: Vec<u32>,
}

impl Inside {
    /// With the namespaces that a holder has, which lives.
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

    /// Of a rig whose holder asks.
    pub(super) fn of_uts(holder: u32, uts: UtsNamespace) -> Self {
        Self {
            places: Vec::new(),
            ours: Ours::InUts(uts),
            holder: Some(holder),
        }
    }

    /// Of one host of a rig that is ours alone.
    pub(super) fn of_host(holder: u32, place: NetworkNamespace) -> Self {
        Self {
            places: vec![place],
            ours: Ours::All,
            holder: Some(holder),
        }
    }

    /// With those namespaces that a dead holder's hosts have left, kept by the processes in them.
    pub(super) fn left(hosts: &[HeldHost], uts_namespace: u64) -> Self {
        Self {
            places: hosts.iter().filter_map(left_of).collect(),
            ours: Ours::ThereInUts(uts_namespace),
            holder: None,
        }
    }

    /// With none.
    pub(super) fn nowhere() -> Self {
        Self {
            places: Vec::new(),
            ours: Ours::All,
            holder: None,
        }
    }

    /// Ours, and whoever else is in the rig's network namespaces.
    pub(super) fn all(&self) -> Vec<u32> {
        let mut pids = targets::processes();
        pids.retain(|pid| (self.is_ours(*pid) || self.is_there(*pid)) && self.counts(*pid));
        pids
    }

    /// Those that were started there by `rig exec`, or by what was.
    pub(super) fn ours(&self) -> Vec<u32> {
        let mut pids = targets::processes();
        pids.retain(|pid| self.is_ours(*pid) && self.counts(*pid));
        pids
    }

    /// One that is ending still has its namespaces for a moment, and is not counted.
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

    /// Ends ours: asks them first, kills what is left after a time of grace, and waits until they
    /// have gone.
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

    /// Gives each of ours an order, also those that appear meanwhile; whether all have gone.
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

    /// One that ended meanwhile needs no signal any more.
    fn send(&self, pid: u32, order: EndSignal) {
        if let Ok(process) = pidfd::open_any(pid)
            && self.is_ours(pid)
            && self.counts(pid)
        {
            let _ = pidfd::send(process, order);
        }
    }
}

/// Opened by way of a process that is in it. An inode alone proves nothing once its namespace may
/// be gone, since it is given out again.
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
