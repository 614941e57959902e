//! The processes that are on the hosts of a rig.

use std::fs;
use std::time::Duration;

use sys::pidfd::{self, Order};

use crate::process_stat::ProcessStat;
use crate::targets;

/// The variable by which the programs of a rig know that they are in it, and we know them: a
/// namespace's inode is given out again once it is gone, and alone proves nothing.
pub const MARK: &str = "LINERATE_RIG";

/// How long a program has to put its things in order.
const GRACE: Duration = Duration::from_secs(2);

/// Where and what to look for.
#[derive(Clone, Debug)]
pub(super) struct Inside {
    /// Inodes of the rig's network namespaces.
    pub(super) namespaces: Vec<u64>,
    /// What [`MARK`] is set to.
    pub(super) mark: String,
}

impl Inside {
    /// The processes in the rig's namespaces.
    pub(super) fn all(&self) -> Vec<u32> {
        let mut pids = targets::processes();
        pids.retain(|pid| self.holds(*pid));
        pids
    }

    /// Those of them that were started there by `rig exec`, or by what was.
    pub(super) fn ours(&self) -> Vec<u32> {
        let mut pids = self.all();
        pids.retain(|pid| is_marked(*pid, &self.mark));
        pids
    }

    /// A process that is ending has lost its environment and not yet its namespace, and will.
    fn holds(&self, pid: u32) -> bool {
        let inode = sys::namespace::network_inode_of(pid);
        inode.is_ok_and(|inode| self.namespaces.contains(&inode))
            && ProcessStat::of(pid).is_ok_and(|stat| !stat.is_ending())
    }

    /// Ends ours: asks them first, and waits until they have gone. Their numbers.
    pub(super) fn end(&self) -> Vec<u32> {
        let found = self.ours();
        for order in [Order::End, Order::Kill] {
            self.ours()
                .into_iter()
                .for_each(|pid| self.send(pid, order));
            if sys::clock::wait_until(GRACE, || self.ours().is_empty()) {
                break;
            }
        }
        found
    }

    /// One that ended meanwhile needs no signal any more.
    fn send(&self, pid: u32, order: Order) {
        if let Ok(process) = pidfd::open_any(pid)
            && self.holds(pid)
            && is_marked(pid, &self.mark)
        {
            let _ = pidfd::send(process, order);
        }
    }
}

fn is_marked(pid: u32, mark: &str) -> bool {
    let variable = format!("{MARK}={mark}");
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let mut variables = environment.split(|byte| *byte == 0);
    variables.any(|found| found == variable.as_bytes())
}
