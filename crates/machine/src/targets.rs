//! Finds the processes behind an address, so that their CPU time can be read.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::process::parent_id;
use std::path::Path;

use thiserror::Error;

use crate::process_stat::ProcessStat;
use crate::tcp_table::{self, TcpSocket, TcpState};
use crate::tree::Tree;
use crate::unix_table;

/// Why no process could be found.
#[derive(Debug, Error)]
pub enum TargetError {
    #[error("nothing listens on {0} in this network namespace")]
    NobodyListens(SocketAddr),
    #[error("the list of TCP sockets cannot be read: {0}")]
    NoList(io::Error),
    #[error(
        "the open files of {hidden} processes of other users are hidden from us (EACCES), and the \
         server of {address} is one of them"
    )]
    Hidden { address: SocketAddr, hidden: usize },
    #[error("the listening socket of {0} belongs to no process that can be seen from here")]
    NoProcess(SocketAddr),
}

/// The processes that hold the listening socket of a local address: a server's master and all
/// workers that inherited it.
///
/// # Errors
/// If no process is found: nothing listens there, or the process cannot be seen.
pub fn listening_on(address: SocketAddr) -> Result<Vec<u32>, TargetError> {
    let sockets = tcp_sockets().map_err(TargetError::NoList)?;
    let inodes = listener_inodes(&sockets, address);
    if inodes.is_empty() {
        return Err(TargetError::NobodyListens(address));
    }
    let (pids, hidden) = holders(&links(&inodes));
    match (pids.is_empty(), hidden) {
        (false, _) => Ok(pids),
        (true, 0) => Err(TargetError::NoProcess(address)),
        (true, hidden) => Err(TargetError::Hidden { address, hidden }),
    }
}

/// The processes that listen on a Unix socket with this path; none if none can be seen.
#[must_use]
pub fn listening_at(path: &Path) -> Vec<u32> {
    // Names of sockets are bytes. One that is not valid UTF-8 must not hide the others.
    let table = std::fs::read("/proc/net/unix").unwrap_or_default();
    let table = String::from_utf8_lossy(&table);
    holders(&links(&unix_table::listeners(&table, path))).0
}

/// What a descriptor of each of these sockets links to, such as `socket:[123]`.
pub(crate) fn links(inodes: &[u64]) -> Vec<String> {
    let link = |inode| format!("socket:[{inode}]");
    inodes.iter().map(link).collect()
}

/// The addresses on which a process or one of its descendants listens, as far as they can be seen.
#[must_use]
pub fn addresses_of(pid: u32) -> Vec<SocketAddr> {
    listened_at(&with_descendants(pid))
}

/// The addresses on which the process itself listens; if there are none, those of its descendants.
#[must_use]
pub fn nearest_addresses_of(pid: u32) -> Vec<SocketAddr> {
    match listened_at(&[pid]) {
        own if own.is_empty() => addresses_of(pid),
        own => own,
    }
}

fn listened_at(pids: &[u32]) -> Vec<SocketAddr> {
    let inodes: Vec<u64> = pids.iter().flat_map(|pid| socket_inodes(*pid)).collect();
    let sockets = tcp_sockets().unwrap_or_default();
    let listens =
        |socket: &&TcpSocket| socket.state == TcpState::Listening && inodes.contains(&socket.inode);
    sockets
        .iter()
        .filter(listens)
        .map(|socket| socket.local)
        .collect()
}

/// The addresses on which any of these processes or their descendants listen, as far as they can be seen.
#[must_use]
pub fn addresses_of_all(pids: &[u32]) -> Vec<SocketAddr> {
    let all: BTreeSet<SocketAddr> = pids.iter().flat_map(|pid| addresses_of(*pid)).collect();
    all.into_iter().collect()
}

/// Whether a socket that listens on one address accepts connections to another. An IPv6 socket on
/// the unspecified address also accepts IPv4 (ipv6(7)).
#[must_use]
pub fn takes(listens_on: SocketAddr, address: SocketAddr) -> bool {
    let all_of_a_kind = match listens_on.ip() {
        IpAddr::V4(ip) => ip.is_unspecified() && address.is_ipv4(),
        IpAddr::V6(ip) => ip.is_unspecified(),
    };
    let same = listens_on.ip().to_canonical() == address.ip().to_canonical();
    listens_on.port() == address.port() && (same || all_of_a_kind)
}

/// Inodes of the sockets that a process has open; none if its files are hidden.
pub(crate) fn socket_inodes(pid: u32) -> Vec<u64> {
    let files = fs::read_dir(format!("/proc/{pid}/fd"));
    let links = files
        .into_iter()
        .flatten()
        .filter_map(|file| fs::read_link(file.ok()?.path()).ok());
    let inode = |link: std::path::PathBuf| {
        let inode = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
        inode.parse().ok()
    };
    links.filter_map(inode).collect()
}

/// These processes and all their descendants.
#[must_use]
pub fn family(pids: &[u32]) -> BTreeSet<u32> {
    let all = pids.iter().flat_map(|pid| with_descendants(*pid));
    all.collect()
}

/// A process and all its descendants. Our own process and what it started are left out unless `pid`
/// is ours: to ask about the shell that started us is not to ask about the observer.
pub(crate) fn with_descendants(pid: u32) -> Vec<u32> {
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(pid) = found.get(next) {
        let children = children_of(*pid).into_iter();
        found.extend(children.filter(|child| !is_ours(*child)));
        next += 1;
    }
    found
}

/// Whether a process is this one, or its parent running the same program, which started us as its
/// agent.
fn is_ours(pid: u32) -> bool {
    let program = |pid: u32| fs::read_link(format!("/proc/{pid}/exe")).ok();
    let own = std::process::id();
    pid == own || (pid == parent_id() && program(own).is_some_and(|own| program(pid) == Some(own)))
}

/// The children of all threads of a process; none if the kernel does not list them.
pub(crate) fn children_of(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task"));
    let threads = threads.into_iter().flatten().filter_map(Result::ok);
    let lists = threads.map(|thread| fs::read_to_string(thread.path().join("children")));
    let numbers = |list: String| -> Vec<u32> {
        let numbers = list.split_whitespace();
        numbers.filter_map(|number| number.parse().ok()).collect()
    };
    lists.filter_map(Result::ok).flat_map(numbers).collect()
}

/// All TCP sockets of this network namespace.
fn tcp_sockets() -> io::Result<Vec<TcpSocket>> {
    let mut sockets = tcp_table::parse(&fs::read_to_string("/proc/net/tcp")?);
    // Without IPv6 this file does not exist.
    sockets.extend(tcp_table::parse(
        &fs::read_to_string("/proc/net/tcp6").unwrap_or_default(),
    ));
    Ok(sockets)
}

/// The processes with a descriptor that links to one of `links`, and the number of processes whose
/// descriptors we may not read.
pub(crate) fn holders(links: &[String]) -> (Vec<u32>, usize) {
    let mut pids = Vec::new();
    let mut hidden = 0;
    for pid in processes() {
        match fs::read_dir(format!("/proc/{pid}/fd")) {
            Ok(files) => {
                let mut targets = files.filter_map(|file| fs::read_link(file.ok()?.path()).ok());
                if targets.any(|target| links.iter().any(|link| target.as_os_str() == &**link)) {
                    pids.push(pid);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => hidden += 1,
            // It ended in the meantime.
            Err(_) => {}
        }
    }
    (pids, hidden)
}

/// The CPUs that any of these processes may run on, in ascending order; a process that cannot be
/// seen adds none.
#[must_use]
pub fn cpus_of(pids: &[u32]) -> Vec<usize> {
    let tree = Tree::of_this_machine();
    let lists = pids
        .iter()
        .filter_map(|pid| tree.allowed_cpus(&tree.text(&format!("proc/{pid}/status"))?));
    let cpus: BTreeSet<_> = lists.flatten().collect();
    cpus.into_iter().collect()
}

/// Whether a process exists and has not ended.
#[must_use]
pub fn is_alive(pid: u32) -> bool {
    ProcessStat::of(pid).is_ok_and(|stat| !stat.is_over())
}

/// The numbers of all processes that can be seen.
pub(crate) fn processes() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter_map(|name| name.parse().ok()).collect()
}

/// Inodes of the listeners that accept a connection to `address`: those on it or on any address.
/// For an unspecified address, those on its port.
fn listener_inodes(sockets: &[TcpSocket], address: SocketAddr) -> Vec<u64> {
    let accepts = |local: SocketAddr| match address.ip().is_unspecified() {
        true => local.port() == address.port(),
        false => takes(local, address),
    };
    let listeners = sockets
        .iter()
        .filter(|socket| socket.state == TcpState::Listening && accepts(socket.local));
    listeners.map(|socket| socket.inode).collect()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn our_own_listener_is_ours() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let pids = listening_on(listener.local_addr().unwrap()).unwrap();
        assert_eq!(pids, [std::process::id()]);
    }

    #[test]
    fn our_own_socket_among_the_files_is_ours() {
        let path = std::env::temp_dir().join(format!("linerate-own-{}", std::process::id()));
        let _listener = UnixListener::bind(&path).unwrap();
        let pids = listening_at(&path);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(pids, [std::process::id()]);
        assert!(listening_at(Path::new("/nowhere")).is_empty());
    }

    #[test]
    fn our_own_process_is_no_part_of_a_program_unless_it_is_asked_for() {
        let own = std::process::id();
        assert!(children_of(parent_id()).contains(&own));
        assert!(!with_descendants(parent_id()).contains(&own));
        assert_eq!(with_descendants(own)[0], own);
    }

    #[test]
    fn our_own_cpus_are_those_of_the_affinity_mask() {
        let own = sys::cpu::allowed().unwrap();
        assert_eq!(cpus_of(&[std::process::id(), u32::MAX]), own);
    }

    #[test]
    fn an_address_without_a_listener_says_so() {
        let address = "127.0.0.1:1".parse().unwrap();
        let error = listening_on(address).unwrap_err();
        assert!(matches!(error, TargetError::NobodyListens(_)), "{error}");
    }

    #[test]
    fn a_listener_on_any_address_takes_connections_to_each_and_others_do_not() {
        let socket = |local: &str, inode| TcpSocket {
            local: local.parse().unwrap(),
            remote: "0.0.0.0:0".parse().unwrap(),
            state: TcpState::Listening,
            inode,
        };
        let sockets = [
            socket("0.0.0.0:80", 1),
            socket("[::]:80", 2),
            socket("192.0.2.1:80", 3),
            socket("127.0.0.1:81", 4),
        ];
        let address = "127.0.0.1:80".parse().unwrap();
        assert_eq!(listener_inodes(&sockets, address), [1, 2]);
        let any = "0.0.0.0:80".parse().unwrap();
        assert_eq!(listener_inodes(&sockets, any), [1, 2, 3]);
    }
}
