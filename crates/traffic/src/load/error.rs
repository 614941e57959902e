//! The reasons why a block of load could not be put on a target at all.

use std::io;
use std::ops::RangeInclusive;

use sys::address::Address;

/// Range of requests per second that an open loop may offer: from one in a quarter of an hour to
/// more than any client can send.
pub(super) const RATE_RANGE: RangeInclusive<f64> = 0.001..=10_000_000.0;
/// Largest number of threads of a load.
pub(super) const THREADS_MAX: u32 = 1024;
/// Largest number of connections to one address: each takes a local port.
pub(super) const CONNECTIONS_MAX: u32 = 65_535;

/// Largest number of requests under way at once, over all streams: each needs memory for its state.
pub(super) const REQUESTS_AT_ONCE_MAX: u64 = 1_000_000;

/// The error that stopped a block of load: what happened, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("a load needs at least one connection")]
    NoConnections,
    #[error(
        "{threads} threads cannot share {connections} connections: \
         ask for at least one thread, and for no more threads than connections"
    )]
    IdleThreads { threads: u32, connections: u32 },
    #[error("a load needs at least one request, and one at a time on each connection")]
    NoRequests,
    #[error("a load needs a duration above zero")]
    NoTime,
    #[error("a load needs a timeout above zero")]
    NoTimeout,
    #[error(
        "{rate} requests/s cannot be offered: \
         ask for a rate above zero, from {least} to {most}",
        least = RATE_RANGE.start(), most = RATE_RANGE.end()
    )]
    NoRate { rate: f64 },
    #[error("{threads} threads are more than the {THREADS_MAX} that a load may have")]
    ManyThreads { threads: u32 },
    #[error(
        "{connections} connections to one address are more than the {CONNECTIONS_MAX} that there \
         are ports for"
    )]
    ManyConnections { connections: u32 },
    #[error(
        "{streams} requests at once on each of {connections} connections are more than the \
         {REQUESTS_AT_ONCE_MAX} that may be under way"
    )]
    ManyStreams { streams: u32, connections: u32 },
    #[error(
        "{connections} connections need as many open files, and this process may have {limit}: ask \
         for fewer, or raise the hard limit (as root: `ulimit -Hn {connections}0`, or LimitNOFILE= \
         of a service)"
    )]
    FewFiles { connections: u32, limit: u64 },
    #[error(
        "a load thread cannot run on CPU {cpu}: {source}; `taskset -p $$` shows what is allowed"
    )]
    Pin { cpu: usize, source: io::Error },
    #[error("no io_uring here: {0}; see the sysctl kernel.io_uring_disabled, or use epoll")]
    NoUring(io::Error),
    #[error("io_uring carries no TLS here: leave the choice open, or use epoll")]
    NoUringUnderTls,
    #[error("io_uring sends one request again and again here: leave the choice open, or use epoll")]
    NoUringForMix,
    #[error("io_uring carries no pipeline here: leave the choice open, or use epoll")]
    NoUringForPipeline,
    #[error("io_uring carries no HTTP/2 here: leave the choice open, or use epoll")]
    NoUringForHttp2,
    #[error("the kernel refused to wait for sockets: {0}; Linux 5.11 or later is needed")]
    Wait(io::Error),
    #[error(
        "{address} accepted none of {attempts} connections: {reason}; \
         is the server running, and listening there?"
    )]
    NobodyAccepted {
        address: Address,
        attempts: u64,
        reason: String,
    },
    #[error("stopped, because another load thread could not start")]
    OtherThread,
}
