//! Kernel counters that show what a program ran into, read at both ends of a look, and the
//! program's limits.
//!
//! Network counters are those of the program's own namespace, group counters those of its own
//! control group.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use sys::cgroup::{Controller, Group};
use sys::namespace::{current_network_inode, network_inode_of};
use sys::{kernel_file, tcp_diag};

use super::{conntrack, interrupts};
use crate::pressure;
use crate::rig::qdisc;
use crate::targets;
use crate::tree::behind;

/// Values by name; docs/instruments/counters.md explains each.
pub type Counters = BTreeMap<String, u64>;

/// Reads the counters at both ends of a window.
#[derive(Debug)]
pub struct CounterWatch {
    pids: Vec<u32>,
    opened: Counters,
}

/// Counters of `/proc/net/snmp` and `/proc/net/netstat`: errors, and work other than answering.
const OF_NETWORK: [&str; 21] = [
    "Tcp.ActiveOpens",
    "Tcp.PassiveOpens",
    "Tcp.AttemptFails",
    "Tcp.InSegs",
    "Tcp.OutSegs",
    "Tcp.RetransSegs",
    "TcpExt.DelayedACKs",
    "TcpExt.ListenOverflows",
    "TcpExt.ListenDrops",
    "TcpExt.TCPTimeouts",
    "TcpExt.TCPSynRetrans",
    "TcpExt.TCPBacklogDrop",
    "TcpExt.TCPRcvCollapsed",
    "TcpExt.TCPToZeroWindowAdv",
    "TcpExt.TCPAutoCorking",
    "TcpExt.TCPReqQFullDrop",
    "TcpExt.TCPMemoryPressures",
    "Udp.InDatagrams",
    "Udp.OutDatagrams",
    "Udp.RcvbufErrors",
    "Udp.SndbufErrors",
];
const OF_MEMORY: [&str; 5] = [
    "pgmajfault",
    "pgscan_direct",
    "workingset_refault_file",
    "workingset_refault_anon",
    "pswpin",
];

impl CounterWatch {
    /// Begins the window for these processes.
    #[must_use]
    pub fn open(pids: &[u32]) -> Self {
        Self {
            pids: pids.to_vec(),
            opened: risen(pids),
        }
    }

    /// Ends the window: the rise of each counter within it, and the current limits.
    #[must_use]
    pub fn close(self) -> Counters {
        let closed = risen(&self.pids).into_iter();
        let since = |(name, end): (String, u64)| {
            let begin = self.opened.get(&name)?;
            Some((name, end.saturating_sub(*begin)))
        };
        let mut all: Counters = closed.filter_map(since).collect();
        all.extend(standing(&self.pids));
        all
    }
}

/// Counters that rise from boot, or from the start of a process.
fn risen(pids: &[u32]) -> Counters {
    let mut all = Counters::new();
    let Some(first) = pids.first() else {
        return all;
    };
    for file in ["snmp", "netstat"] {
        let text = kernel_file::text(format!("/proc/{first}/net/{file}")).unwrap_or_default();
        all.extend(named(&text).filter(|(name, _)| OF_NETWORK.contains(&name.as_str())));
    }
    let devices = kernel_file::text(format!("/proc/{first}/net/dev")).unwrap_or_default();
    let looped = loopback_packets(&devices).map(|count| ("network.loopback_packets", count));
    all.extend(looped.map(|(name, count)| (name.to_owned(), count)));
    all.extend(conntrack::lost(*first));
    all.extend(interrupts::on(&targets::cpus_of(pids)));
    all.extend(pressures());
    let vmstat = kernel_file::text("/proc/vmstat").unwrap_or_default();
    for name in OF_MEMORY {
        let value = vmstat
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        all.extend(
            value
                .and_then(|value| value.parse().ok())
                .map(|value| (format!("memory.{name}"), value)),
        );
    }
    let softnet = kernel_file::text("/proc/net/softnet_stat").unwrap_or_default();
    let (dropped, squeezed) = softnet_losses(&softnet);
    all.insert("softnet.dropped".to_owned(), dropped);
    all.insert("softnet.squeezed".to_owned(), squeezed);
    all.extend(throttled(pids).into_iter().flatten());
    if is_our_network(*first) {
        let lost = qdisc::losses().ok();
        all.extend(lost.map(|(dropped, _)| ("queues.dropped".to_owned(), dropped)));
    }
    let read = |file: &str, word: &str| -> u64 {
        let each = pids.iter().filter_map(|pid| {
            let text = kernel_file::text(format!("/proc/{pid}/{file}"))?;
            behind(&text, word)?.parse::<u64>().ok()
        });
        each.sum()
    };
    all.insert(
        "program.disk_read_bytes".to_owned(),
        read("io", "read_bytes:"),
    );
    all.insert(
        "program.disk_write_bytes".to_owned(),
        read("io", "write_bytes:"),
    );
    all
}

/// Packets received over loopback: the second column of `/proc/net/dev`.
fn loopback_packets(devices: &str) -> Option<u64> {
    let counts = devices
        .lines()
        .find_map(|line| line.trim_start().strip_prefix("lo:"))?;
    counts.split_whitespace().nth(1)?.parse().ok()
}

/// How often a quota stopped the processes' control group, and for how long, µs.
fn throttled(pids: &[u32]) -> Option<Counters> {
    let seen = group_of(pids)?.throttling()?;
    Some(Counters::from([
        ("group.periods".to_owned(), seen.periods),
        ("group.throttled_periods".to_owned(), seen.throttled_periods),
        ("group.throttled_us".to_owned(), seen.throttled_us),
    ]))
}

/// The first control group with a quota among those of these processes and their descendants, else
/// the very first group.
pub(crate) fn group_of(pids: &[u32]) -> Option<Group> {
    let all = pids.iter().flat_map(|pid| targets::with_descendants(*pid));
    let mut groups = all.filter_map(|pid| Group::of_process(pid, Controller::Cpu));
    let first = groups.next()?;
    if first.cpu_quota().is_some() {
        return Some(first);
    }
    Some(
        groups
            .find(|group| group.cpu_quota().is_some())
            .unwrap_or(first),
    )
}

/// How long some task waited for each resource since boot, µs.
fn pressures() -> impl Iterator<Item = (String, u64)> {
    ["cpu", "io", "memory"].into_iter().filter_map(|what| {
        let text = kernel_file::text(format!("/proc/pressure/{what}"))?;
        let some = pressure::parse(&text)?.some_total_us;
        Some((format!("pressure.{what}_us"), some))
    })
}

/// Limits, and how far they are used.
fn standing(pids: &[u32]) -> Counters {
    let mut all = Counters::new();
    let files = pids.iter().filter_map(|pid| {
        let limits = kernel_file::text(format!("/proc/{pid}/limits"))?;
        let limit = open_files(&limits)?;
        let open = std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count() as u64;
        Some((open, limit))
    });
    // Reports the process that is nearest to its limit.
    let nearest = files.max_by(|one, other| (one.0 * other.1).cmp(&(other.0 * one.1)));
    if let Some((open, limit)) = nearest {
        all.insert("files.open".to_owned(), open);
        all.insert("files.limit".to_owned(), limit);
    }
    let Some(first) = pids.first() else {
        return all;
    };
    all.extend(conntrack::filled(*first));
    let quota = group_of(pids).and_then(|group| group.cpu_quota());
    all.extend(quota.map(|cpus| ("group.quota_mcpu".to_owned(), thousandths(cpus))));
    let memory = Group::of_process(*first, Controller::Memory);
    let limit = memory.and_then(|group| group.memory_limit_bytes());
    all.extend(limit.map(|bytes| ("group.memory_limit_bytes".to_owned(), bytes)));
    let status = kernel_file::text(format!("/proc/{first}/status")).unwrap_or_default();
    let filters = behind(&status, "Seccomp_filters:").and_then(|count| count.parse().ok());
    all.extend(filters.map(|count| ("program.seccomp_filters".to_owned(), count)));
    if is_our_network(*first) {
        let waiting = qdisc::losses().ok().map(|(_, waiting)| waiting);
        all.extend(waiting.map(|packets| ("queues.waiting".to_owned(), packets)));
        let ports = kernel_file::text("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
        all.extend(ports_between(&ports).map(|count| ("ports.to_choose_from".to_owned(), count)));
        all.extend(most_ports().map(|ports| ("ports.most_used".to_owned(), ports)));
    }
    all
}

/// Whether a process is in our network namespace: devices and sockets can be seen only there.
fn is_our_network(pid: u32) -> bool {
    let is_own = |inode| current_network_inode().is_ok_and(|own| own == inode);
    network_inode_of(pid).is_ok_and(is_own)
}

/// The largest number of ports that connections to one address use.
fn most_ports() -> Option<u64> {
    let mut counts = BTreeMap::<SocketAddr, u64>::new();
    for end in tcp_diag::far_ends().ok()? {
        *counts.entry(end).or_default() += 1;
    }
    counts.into_values().max()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates"
)]
fn thousandths(cpus: f64) -> u64 {
    (cpus * 1000.0).round() as u64
}

/// The soft limit in `Max open files            1024                 524288               files`.
fn open_files(limits: &str) -> Option<u64> {
    behind(limits, "Max open files")?
        .split_whitespace()
        .next()?
        .parse()
        .ok()
}

fn ports_between(range: &str) -> Option<u64> {
    let mut ends = range.split_whitespace().map(str::parse::<u64>);
    let (first, last) = (ends.next()?.ok()?, ends.next()?.ok()?);
    Some((last + 1).saturating_sub(first))
}

/// Reads pairs of lines, the first with names and the second with numbers in the same order, into
/// names such as `Tcp.RetransSegs`.
pub(super) fn named(text: &str) -> impl Iterator<Item = (String, u64)> {
    let lines: Vec<&str> = text.lines().collect();
    let pairs = lines.chunks_exact(2);
    let values = pairs.flat_map(|pair| {
        let (group, names) = pair[0].split_once(": ").unwrap_or_default();
        let (_, numbers) = pair[1].split_once(": ").unwrap_or_default();
        let both = names.split(' ').zip(numbers.split(' '));
        both.filter_map(move |(name, number)| {
            Some((format!("{group}.{name}"), number.parse().ok()?))
        })
    });
    values.collect::<Vec<_>>().into_iter()
}

/// Sums of the second and third columns over all CPUs, in hexadecimal: packets dropped because a
/// queue was full, and rounds that ended with packets left (net/core/net-procfs.c).
fn softnet_losses(text: &str) -> (u64, u64) {
    let column = |line: &str, at| {
        let word = line.split_whitespace().nth(at)?;
        u64::from_str_radix(word, 16).ok()
    };
    let sum = |at| text.lines().filter_map(|line| column(line, at)).sum();
    (sum(1), sum(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_loopback_are_in_the_second_column_of_its_line() {
        let text = "Inter-| Receive\n face |bytes packets\n    lo: 2048 16 0 0\n  eth0: 1 2 3\n";
        assert_eq!(loopback_packets(text), Some(16));
        for odd in ["", "lo:", "lo: 1", "eth0: 1 2"] {
            assert_eq!(loopback_packets(odd), None, "{odd}");
        }
    }

    #[test]
    fn counters_are_found_by_their_group_and_name_and_odd_texts_have_none() {
        let text = "Tcp: MaxConn RetransSegs\nTcp: -1 42\nTcpExt: ListenOverflows\nTcpExt: 7\n";
        let found: Counters = named(text).collect();
        assert_eq!(found["Tcp.RetransSegs"], 42);
        assert_eq!(found["TcpExt.ListenOverflows"], 7);
        for odd in ["", "Tcp:", "Tcp: A B\nTcp: 1", "x\ny\nz"] {
            assert!(named(odd).count() <= 1, "{odd}");
        }
    }

    #[test]
    fn losses_of_all_cpus_are_added_up() {
        let text = "0000a5a6 00000002 0000000f 00000000\n00000001 00000001 00000001 0\nodd\n";
        assert_eq!(softnet_losses(text), (3, 16));
    }

    #[test]
    fn limits_are_read_and_what_is_none_is_none() {
        let limits = "Max stack size  8388608  unlimited  bytes\n\
                      Max open files            1024                 524288               files\n";
        assert_eq!(open_files(limits), Some(1024));
        assert_eq!(open_files("Max open files unlimited"), None);
        assert_eq!(ports_between("32768\t60999"), Some(28_232));
        assert_eq!(ports_between("9"), None);
    }

    #[test]
    fn of_this_process_something_is_told_and_of_none_nothing() {
        let counters = CounterWatch::open(&[std::process::id()]).close();
        assert!(
            counters["files.open"] < counters["files.limit"],
            "{counters:?}"
        );
        assert!(counters.contains_key("Tcp.OutSegs"), "{counters:?}");
        assert_eq!(CounterWatch::open(&[]).close(), Counters::new());
    }
}
