//! Why a block of load could not be put on a target at all.

use std::io;
use std::net::SocketAddr;

/// What stopped a block of load: what happened, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("a load needs at least one connection")]
    NoConnections,
    #[error(
        "{threads} threads cannot share {connections} connections: \
         ask for at least one thread, and for no more threads than connections"
    )]
    IdleThreads { threads: u32, connections: u32 },
    #[error("a load needs a duration above zero")]
    NoTime,
    #[error("a load needs a timeout above zero")]
    NoTimeout,
    #[error("{rate} requests/s cannot be offered: ask for a rate above zero")]
    NoRate { rate: f64 },
    #[error(
        "a load thread cannot run on CPU {cpu}: {source}; `taskset -p $$` shows what is allowed"
    )]
    Pin { cpu: usize, source: io::Error },
    #[error("no io_uring here: {0}; see the sysctl kernel.io_uring_disabled, or use epoll")]
    NoUring(io::Error),
    #[error("the kernel refused to wait for sockets: {0}; Linux 5.11 or later is needed")]
    Wait(io::Error),
    #[error(
        "{address} accepted none of {attempts} connections: {reason}; \
         is the server running, and listening on this address and port?"
    )]
    NobodyAccepted {
        address: SocketAddr,
        attempts: u64,
        reason: String,
    },
    #[error("stopped, because another load thread could not start")]
    OtherThread,
}
