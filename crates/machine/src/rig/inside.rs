//! The processes that are on the hosts of a rig: found by its namespaces, however they have detached
//! themselves from whoever started them, and ended.

use std::time::Duration;

use sys::namespace::{NetworkNamespace, network_inode_of, uts_inode_of};
use sys::pidfd::{self, Order};

use super::holder::HeldHost;
use crate::process_stat::ProcessStat;
use crate::targets;

/// The variable by which the programs of a rig know that they are in it.
pub const MARK: &str = "LINERATE_RIG";

/// How long a program has to put its things in order.
const GRACE: Duration = Duration::from_secs(2);
/// The kernel ends what it is told to kill at once, unless that waits for a disk.
pub(super) const LONGEST_END: Duration = Duration::from_secs(10);

/// Where and what to look for.
#[derive(Debug)]
pub(super) struct Inside {
    /// The rig's network namespaces, as far as they are there: open, their inodes stay theirs.
    places: Vec<NetworkNamespace>,
    /// Inode of the UTS namespace in which whatever `rig exec` starts is, and what that starts: a
    /// program can lose its environment, its user and its session, and keeps this. `None` where the
    /// rig is ours alone, and everybody there with it.
    uts_namespace: Option<u64>,
    /// The process that holds them, which is in both kinds and no program of the rig.
    holder: Option<u32>,
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
        Self {
            places: hosts.iter().filter_map(open).collect(),
            uts_namespace: Some(uts_namespace),
            holder: Some(holder),
        }
    }

    /// Of one host of a rig that is ours alone.
    pub(super) fn of_host(holder: u32, place: NetworkNamespace) -> Self {
        Self {
            places: vec![place],
            uts_namespace: None,
            holder: Some(holder),
        }
    }

    /// With those namespaces that a dead holder's hosts have left, kept by the processes in them.
    pub(super) fn left(hosts: &[HeldHost], uts_namespace: u64) -> Self {
        Self {
            places: hosts.iter().filter_map(left_of).collect(),
            uts_namespace: Some(uts_namespace),
            holder: None,
        }
    }

    /// With none.
    pub(super) fn nowhere() -> Self {
        Self {
            places: Vec::new(),
            uts_namespace: None,
            holder: None,
        }
    }

    /// The processes in the rig's namespaces.
    pub(super) fn all(&self) -> Vec<u32> {
        let mut pids = targets::processes();
        pids.retain(|pid| self.holds(*pid));
        pids
    }

    /// Those of them that were started there by `rig exec`, or by what was.
    pub(super) fn ours(&self) -> Vec<u32> {
        let mut pids = self.all();
        pids.retain(|pid| self.is_ours(*pid));
        pids
    }

    /// One that is ending still has its namespaces for a moment, and is not counted.
    fn holds(&self, pid: u32) -> bool {
        let is_one = |inode| self.places.iter().any(|place| has_inode(place, inode));
        self.holder != Some(pid)
            && network_inode_of(pid).is_ok_and(is_one)
            && ProcessStat::of(pid).is_ok_and(|stat| !stat.is_ending())
    }

    fn is_ours(&self, pid: u32) -> bool {
        let is_it = |ours| uts_inode_of(pid).is_ok_and(|inode| inode == ours);
        self.uts_namespace.is_none_or(is_it)
    }

    /// Ends ours: asks them first, then kills what is left, and waits until they have gone.
    pub(super) fn end(&self) -> Ended {
        let mut found = Vec::new();
        for (order, within) in [(Order::End, GRACE), (Order::Kill, LONGEST_END)] {
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
    fn end_by(&self, order: Order, within: Duration, found: &mut Vec<u32>) -> bool {
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
    fn send(&self, pid: u32, order: Order) {
        if let Ok(process) = pidfd::open_any(pid)
            && self.holds(pid)
            && self.is_ours(pid)
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
    place.inode().is_ok_and(|found| found == inode)
}
