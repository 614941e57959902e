//! The listening sockets of a server, one per worker.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd as _;

use model::named;
use serde::Serialize;
use sys::listener::{self, Refused};
use sys::socket::{self, ListenOptions};
use thiserror::Error;

/// Default for how many connections may wait to be accepted; the kernel limits it to
/// `net.core.somaxconn`.
pub const BACKLOG: u32 = 4096;

named! {
    /// How the kernel chooses the listener for a new connection, where several share a port.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    pub enum Steering, "steering" {
        /// By a program of ours: the listener at the place that is the number of the receiving CPU
        /// (`SO_ATTACH_REUSEPORT_CBPF`).
        Program = "cbpf",
        /// The listener that names the receiving CPU (`SO_INCOMING_CPU`).
        IncomingCpu = "incoming-cpu",
        /// By a hash of the addresses.
        Hash = "hash",
    }
}

/// Why connections cannot be distributed in the wanted way.
#[derive(Debug, Error)]
pub enum CannotSteer {
    #[error("there is one worker, so there is nothing to choose from")]
    OneWorker,
    #[error(
        "the kernel's program identifies a worker only by the number of its CPU, so there must be \
         one on each of the CPUs 0, 1, …; there are {workers} on CPUs {cpus}"
    )]
    NotByNumber { workers: usize, cpus: String },
    #[error(
        "a listener names one CPU, so there must be one worker on each; there are {workers} on \
         CPUs {cpus}"
    )]
    NotOneEach { workers: usize, cpus: String },
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error("SO_ATTACH_REUSEPORT_CBPF: {0}")]
    NoProgram(#[from] io::Error),
}

/// Opens `count` listeners on one address; with port 0 the kernel chooses one port for all of them.
/// Several listeners share the port (`SO_REUSEPORT`), and the kernel distributes new connections by
/// a hash of their addresses.
///
/// # Errors
/// `EADDRINUSE` when the port is taken, even by another server of ours.
pub fn open(address: SocketAddr, count: usize, backlog: u32) -> io::Result<Vec<TcpListener>> {
    let alone = listen(address, false, backlog)?;
    if count <= 1 {
        return Ok(vec![alone]);
    }
    // The first listener only checked that nobody else has the port: a listener that shares would
    // silently join the group of another server of the same user.
    let address = alone.local_addr()?;
    drop(alone);
    (0..count).map(|_| listen(address, true, backlog)).collect()
}

/// The default steering: to the worker on the CPU that received the connection where possible,
/// otherwise by hash. On loopback the receiving CPU is the client's, so there it pays only when
/// clients run on all of these CPUs.
pub fn usual_steering(workers: usize, cpus: &[usize]) -> Steering {
    match workers > 1 && is_by_number(workers, cpus) {
        true => Steering::Program,
        false => Steering::Hash,
    }
}

/// Makes the kernel distribute new connections by `steering`.
///
/// # Errors
/// Where workers and CPUs do not allow it, or the kernel refuses.
pub fn steer(
    listeners: &[TcpListener],
    cpus: &[usize],
    steering: Steering,
) -> Result<(), CannotSteer> {
    let workers = listeners.len();
    let words = || sys::cpu::format_list(cpus);
    let [first, _, ..] = listeners else {
        return Err(CannotSteer::OneWorker);
    };
    match steering {
        Steering::Hash => Ok(()),
        Steering::Program if is_by_number(workers, cpus) => {
            Ok(socket::choose_listener_by_cpu(first.as_fd())?)
        }
        Steering::Program => Err(CannotSteer::NotByNumber {
            workers,
            cpus: words(),
        }),
        Steering::IncomingCpu if workers == cpus.len() => name_cpus(listeners, cpus),
        Steering::IncomingCpu => Err(CannotSteer::NotOneEach {
            workers,
            cpus: words(),
        }),
    }
}

/// Whether steering by program is possible: the program knows only the number of the CPU, which
/// must be the place of the listener.
fn is_by_number(workers: usize, cpus: &[usize]) -> bool {
    workers == cpus.len() && cpus.iter().copied().eq(0..workers)
}

fn name_cpus(listeners: &[TcpListener], cpus: &[usize]) -> Result<(), CannotSteer> {
    for (listener, &cpu) in listeners.iter().zip(cpus) {
        listener::choose_by_name_of_cpu(listener.as_fd(), cpu)?;
    }
    Ok(())
}

fn listen(address: SocketAddr, shared_port: bool, backlog: u32) -> io::Result<TcpListener> {
    let options = ListenOptions {
        shared_port,
        backlog: i32::try_from(backlog).unwrap_or(i32::MAX),
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
        let listeners = open(any_port(), 3, BACKLOG).unwrap();
        let ports: Vec<u16> = listeners
            .iter()
            .map(|one| one.local_addr().unwrap().port())
            .collect();
        assert_eq!(ports, [ports[0]; 3]);
    }

    #[test]
    fn a_port_that_is_shared_by_another_server_counts_as_taken() {
        let others = open(any_port(), 2, BACKLOG).unwrap();
        let address = others[0].local_addr().unwrap();
        for count in [1, 2] {
            let error = open(address, count, BACKLOG).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        }
    }

    #[test]
    fn connections_are_steered_by_number_only_where_place_and_cpu_agree() {
        let listeners = open(any_port(), 2, BACKLOG).unwrap();
        steer(&listeners, &[0, 1], Steering::Program).unwrap();
        assert_eq!(usual_steering(2, &[0, 1]), Steering::Program);
        for cpus in [&[1, 2][..], &[0], &[1, 0], &[0, 1, 2]] {
            let refused = steer(&listeners, cpus, Steering::Program).unwrap_err();
            assert!(
                matches!(refused, CannotSteer::NotByNumber { .. }),
                "{cpus:?}"
            );
            assert_eq!(usual_steering(2, cpus), Steering::Hash, "{cpus:?}");
        }
        assert_eq!(usual_steering(1, &[0]), Steering::Hash);
    }

    #[test]
    fn listeners_may_name_any_cpus_but_one_each() {
        let listeners = open(any_port(), 2, BACKLOG).unwrap();
        steer(&listeners, &[3, 7], Steering::IncomingCpu).unwrap();
        let refused = steer(&listeners, &[0], Steering::IncomingCpu).unwrap_err();
        assert!(matches!(refused, CannotSteer::NotOneEach { .. }));
        for steering in Steering::ALL {
            let refused = steer(&listeners[..1], &[0], steering).unwrap_err();
            assert!(matches!(refused, CannotSteer::OneWorker));
        }
    }
}
