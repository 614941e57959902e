//! Finds what a program waits for: the connections that it opened itself, and who is at their other
//! end.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use model::observation::Behind;
use sys::kernel_file;
use sys::tcp_queues::{Ends, OpenEnd, QueueLook};

use super::moments::Watchee;
use crate::targets;

/// The most programs that are reported; those that are waited for most come first.
const MOST: usize = 5;

/// What was seen so far of the connections that the program opened.
#[derive(Debug, Default)]
pub(super) struct BehindWatch {
    glances: u32,
    /// Sums by the address at the other end.
    seen: BTreeMap<SocketAddr, Sum>,
}

/// Sums over all glances.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    open: u32,
    waiting: u32,
    is_here: bool,
}

impl BehindWatch {
    /// Takes one glance at the connections that the program has open.
    pub(super) fn see(&mut self, look: &QueueLook, watchee: &Watchee) {
        let Ok(all) = look.all() else { return };
        let processes = targets::family(&watchee.pids).into_iter();
        let own: BTreeSet<u64> = processes.flat_map(targets::socket_inodes).collect();
        self.add(&all, &own, &watchee.listens);
    }

    /// Adds the sockets with these inodes, except connections that arrived where the program
    /// listens.
    fn add(&mut self, all: &[OpenEnd], own: &BTreeSet<u64>, listens: &[SocketAddr]) {
        self.glances += 1;
        let ends: BTreeSet<Ends> = all.iter().map(|it| plain(it.ends)).collect();
        let inbound = |at: SocketAddr| listens.iter().any(|listens| targets::takes(*listens, at));
        for it in all.iter().filter(|it| own.contains(&it.inode)) {
            let at = plain(it.ends);
            if inbound(at.local) || inbound(at.remote) {
                continue;
            }
            let sum = self.seen.entry(at.remote).or_default();
            sum.open += 1;
            sum.waiting += u32::from(it.awaits);
            sum.is_here |= ends.contains(&at.turned());
        }
    }

    /// The programs at the other ends.
    pub(super) fn end(self) -> Vec<Behind> {
        let mut most: Vec<(SocketAddr, Sum)> = self.seen.into_iter().collect();
        most.sort_by_key(|(_, sum)| std::cmp::Reverse((sum.waiting, sum.open)));
        most.truncate(MOST);
        let each = |count: u32| f64::from(count) / f64::from(self.glances.max(1));
        let behind = |(address, sum): (SocketAddr, Sum)| {
            let pids = match sum.is_here {
                true => targets::listening_on(address).unwrap_or_default(),
                false => Vec::new(),
            };
            Behind {
                address,
                is_here: sum.is_here,
                name: pids.first().and_then(|pid| name(*pid)).unwrap_or_default(),
                pids,
                open: each(sum.open),
                waiting: each(sum.waiting),
            }
        };
        most.into_iter().map(behind).collect()
    }
}

fn name(pid: u32) -> Option<String> {
    kernel_file::text(format!("/proc/{pid}/comm"))
}

/// Converts IPv4 addresses that a socket for IPv6 writes as IPv6 addresses back to IPv4.
fn plain(ends: Ends) -> Ends {
    let plain = |at: SocketAddr| SocketAddr::new(at.ip().to_canonical(), at.port());
    Ends {
        local: plain(ends.local),
        remote: plain(ends.remote),
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    fn standing(local: &str, remote: &str, inode: u64, awaits: bool) -> OpenEnd {
        OpenEnd {
            ends: Ends {
                local: local.parse().unwrap(),
                remote: remote.parse().unwrap(),
            },
            inode,
            awaits,
        }
    }

    #[test]
    fn connections_of_its_own_are_told_by_who_is_waited_for_and_whether_he_is_here() {
        let all = [
            // A connection from a client of the program.
            standing("127.0.0.1:80", "127.0.0.1:5000", 1, true),
            standing("127.0.0.1:6000", "127.0.0.1:3000", 2, true),
            standing(
                "[::ffff:127.0.0.1]:3000",
                "[::ffff:127.0.0.1]:6000",
                9,
                false,
            ),
            standing("192.0.2.1:6001", "192.0.2.9:5432", 3, false),
        ];
        let mut watch = BehindWatch::default();
        let own = BTreeSet::from([1, 2, 3]);
        for _ in 0..2 {
            watch.add(&all, &own, &["0.0.0.0:80".parse().unwrap()]);
        }
        let found: Vec<_> = watch.end();
        let told = found
            .iter()
            .map(|it| (it.address.port(), it.is_here, it.open, it.waiting));
        let told: Vec<_> = told.collect();
        assert_eq!(told, [(3000, true, 1.0, 1.0), (5432, false, 1.0, 0.0)]);
    }

    #[test]
    fn our_own_connection_leads_to_us() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let _connection = TcpStream::connect(address).unwrap();
        let mut watch = BehindWatch::default();
        let own = Watchee {
            pids: vec![std::process::id()],
            ..Watchee::default()
        };
        watch.see(&QueueLook::open().unwrap(), &own);
        let found = watch.seen.get(&address).copied().unwrap();
        assert!(found.is_here, "{found:?}");
        let told = BehindWatch {
            glances: 1,
            seen: BTreeMap::from([(address, found)]),
        };
        assert_eq!(told.end()[0].pids, [std::process::id()]);
    }
}
