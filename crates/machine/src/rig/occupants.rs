//! Everybody on a host of a rig, known by the namespace: however a program has detached itself
//! from whoever started it, it is still there.

use std::time::Duration;

use sys::pidfd::{self, Order};

use crate::process_stat::ProcessStat;
use crate::targets;

/// The kernel ends what it is told to kill at once, unless that waits for a disk.
const LONGEST_END: Duration = Duration::from_secs(10);

/// Ends every process in a network namespace: asks them, and kills those that are there after
/// `grace`. The caller holds the namespace open, so that its inode is no other's.
pub(super) fn end_all(namespace: u64, grace: Duration) {
    send_all(namespace, Order::End);
    if sys::clock::wait_until(grace, || all(namespace).is_empty()) {
        return;
    }
    // More than once: one may have started another meanwhile.
    sys::clock::wait_until(LONGEST_END, || {
        send_all(namespace, Order::Kill);
        all(namespace).is_empty()
    });
}

fn all(namespace: u64) -> Vec<u32> {
    let mut pids = targets::processes();
    pids.retain(|pid| is_in(namespace, *pid));
    pids
}

/// One that is ending needs no signal any more.
fn is_in(namespace: u64, pid: u32) -> bool {
    sys::namespace::network_inode_of(pid).is_ok_and(|inode| inode == namespace)
        && ProcessStat::of(pid).is_ok_and(|stat| !stat.is_ending())
}

fn send_all(namespace: u64, order: Order) {
    for pid in all(namespace) {
        // Looked at again once its number is its own.
        if let Ok(process) = pidfd::open_any(pid)
            && is_in(namespace, pid)
        {
            let _ = pidfd::send(process, order);
        }
    }
}
