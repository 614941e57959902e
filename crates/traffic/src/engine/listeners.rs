//! The listening sockets of a server, one per worker.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd as _;

use sys::socket::{self, ListenOptions};

/// The kernel cuts it to `net.core.somaxconn`.
const BACKLOG: i32 = 4096;

/// Opens `count` listeners on one address; with port 0 the kernel chooses the port, the same for
/// all. Several share the port (`SO_REUSEPORT`), and the kernel deals new connections out by a
/// hash of their addresses.
///
/// # Errors
/// `EADDRINUSE` when the port is taken, by another server of ours too.
pub fn open(address: SocketAddr, count: usize) -> io::Result<Vec<TcpListener>> {
    let alone = listen(address, false)?;
    if count <= 1 {
        return Ok(vec![alone]);
    }
    // The first was to see that nobody else has the port: a listener that shares would join the
    // group of another server of the same user in silence.
    let address = alone.local_addr()?;
    drop(alone);
    (0..count).map(|_| listen(address, true)).collect()
}

/// Gives each new connection to the worker on the CPU that received it, where that can be done:
/// the kernel's program knows only the number of the CPU, so there must be one listener per CPU,
/// in order, from CPU 0 on. Otherwise the kernel goes on choosing by hash. On loopback the
/// receiving CPU is the client's, so there it pays only for clients on all of them.
///
/// # Errors
/// `EPERM` or `ENOPROTOOPT` on kernels without it.
pub fn steer_by_cpu(listeners: &[TcpListener], cpus: &[usize]) -> io::Result<bool> {
    let one_to_one = listeners.len() == cpus.len() && cpus.iter().copied().eq(0..cpus.len());
    match listeners {
        [first, _, ..] if one_to_one => {
            socket::choose_listener_by_cpu(first.as_fd()).map(|()| true)
        }
        _ => Ok(false),
    }
}

fn listen(address: SocketAddr, shared_port: bool) -> io::Result<TcpListener> {
    let options = ListenOptions {
        shared_port,
        backlog: BACKLOG,
    };
    socket::listen(address, options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn any_port() -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, 0))
    }

    #[test]
    fn all_listeners_have_the_port_that_the_kernel_chose() {
        let listeners = open(any_port(), 3).unwrap();
        let ports: Vec<u16> = listeners
            .iter()
            .map(|one| one.local_addr().unwrap().port())
            .collect();
        assert_eq!(ports, [ports[0]; 3]);
    }

    #[test]
    fn a_port_that_is_shared_by_another_server_counts_as_taken() {
        let others = open(any_port(), 2).unwrap();
        let address = others[0].local_addr().unwrap();
        for count in [1, 2] {
            let error = open(address, count).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        }
    }

    #[test]
    fn connections_are_steered_only_where_index_and_cpu_agree() {
        let listeners = open(any_port(), 2).unwrap();
        assert!(steer_by_cpu(&listeners, &[0, 1]).unwrap());
        for cpus in [&[1, 2][..], &[0], &[1, 0], &[0, 1, 2]] {
            assert!(!steer_by_cpu(&listeners, cpus).unwrap(), "{cpus:?}");
        }
        assert!(!steer_by_cpu(&listeners[..1], &[0]).unwrap());
    }
}
