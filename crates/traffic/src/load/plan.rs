//! The plan for one block of load.

use std::ops::Range;

use model::{Pace, named};
use serde::Serialize;
use sys::address::Address;

use super::LoadError;
use super::error::{CONNECTIONS_MAX, RATE_RANGE, REQUESTS_AT_ONCE_MAX, THREADS_MAX};
use crate::tls::Client;

/// Open files that are no connections: standard streams and what the program keeps open. Each
/// thread has a few more of its own.
const OTHER_FILES: u64 = 16;

named! {
    /// What carries the bytes.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
    pub enum Engine, "engine" {
        /// io_uring where it saves CPU and the kernel lets us, else epoll.
        #[default]
        Auto = "auto",
        Epoll = "epoll",
        Uring = "uring",
    }
}

/// A block of load on one address.
#[derive(Clone, Debug)]
pub struct LoadPlan {
    pub address: Address,
    /// Connections held open at once, over all threads.
    pub connections: u32,
    pub threads: u32,
    /// Thread `i` runs on `cpus[i % cpus.len()]`; empty leaves the choice to the kernel.
    pub cpus: Vec<usize>,
    pub pace: Pace,
    /// Load before the scored window, so that what is scored is steady, ns.
    pub settle_ns: u64,
    /// Length of the scored window, ns.
    pub score_ns: u64,
    /// The most requests in the block, which is over when the last has ended; `None` for no limit.
    pub requests: Option<u64>,
    /// A request that is unanswered for this long has failed, ns. It is noticed up to a tenth of
    /// this late.
    pub timeout_ns: u64,
    /// Also record distributions, which costs a reading of the clock for each request. Without
    /// them, in closed loop, requests and answers may be moved in batches, which costs less CPU.
    pub record_latency: bool,
    pub engine: Engine,
    /// Answers are long, and what counts is their bytes: a request has failed when nothing of its
    /// answer came for the timeout, not when the whole answer took longer.
    pub bulk: bool,
    /// The TLS client to connect with; `None` in the clear.
    pub tls: Option<Client>,
    /// Requests under way at once on each connection of HTTP/2; `None` for other protocols.
    pub streams: Option<u32>,
    /// Requests under way at once on each connection of HTTP/1.1, answered in their order; with 1,
    /// the next request is sent after the answer.
    pub pipeline: u32,
}

impl LoadPlan {
    /// Checks that this plan can be carried out at all.
    ///
    /// # Errors
    /// The first thing that makes no sense.
    pub fn check(&self) -> Result<(), LoadError> {
        let (threads, connections, streams) = (self.threads, self.connections, self.streams());
        let at_once = u64::from(connections) * u64::from(streams);
        let needs_ports = matches!(self.address, Address::Tcp(_));
        let rate = self.rate_rps().filter(|rate| !RATE_RANGE.contains(rate));
        let wrong = [
            (connections == 0).then_some(LoadError::NoConnections),
            (needs_ports && connections > CONNECTIONS_MAX)
                .then_some(LoadError::ManyConnections { connections }),
            (threads > THREADS_MAX).then_some(LoadError::ManyThreads { threads }),
            (threads == 0 || threads > connections).then_some(LoadError::IdleThreads {
                threads,
                connections,
            }),
            (at_once > REQUESTS_AT_ONCE_MAX).then_some(LoadError::ManyStreams {
                streams,
                connections,
            }),
            (streams == 0 || self.requests == Some(0)).then_some(LoadError::NoRequests),
            (self.score_ns == 0).then_some(LoadError::NoTime),
            (self.timeout_ns == 0).then_some(LoadError::NoTimeout),
            rate.map(|rate| LoadError::NoRate { rate }),
        ];
        wrong.into_iter().flatten().next().map_or(Ok(()), Err)
    }

    /// Checks that this many connections can be open at once; raises the limit of open files as far
    /// as is possible without privilege.
    ///
    /// # Errors
    /// [`LoadError::FewFiles`].
    pub fn make_room(&self) -> Result<(), LoadError> {
        let connections = self.connections;
        // A connection of HTTP/2 that the server ends coexists with its successor for a while.
        let each = if self.streams.is_some() { 2 } else { 1 };
        let needed = each * u64::from(connections) + OTHER_FILES + 4 * u64::from(self.threads);
        // Where the kernel does not report the limit, it is the connections that fail.
        match sys::process::raise_open_file_limit() {
            Ok(limit) if limit < needed => Err(LoadError::FewFiles { connections, limit }),
            _ => Ok(()),
        }
    }

    /// Returns the rate of an open loop; `None` in closed loop.
    pub(super) fn rate_rps(&self) -> Option<f64> {
        match self.pace {
            Pace::Closed => None,
            Pace::Open { rate_rps, .. } => Some(rate_rps),
        }
    }

    /// Returns the requests under way at once on each connection.
    pub fn streams(&self) -> u32 {
        self.streams.unwrap_or(self.pipeline)
    }

    /// Whether only throughput counts, so that single requests may wait to leave in a batch.
    pub(super) fn may_batch(&self) -> bool {
        self.pace == Pace::Closed && !self.record_latency && !self.bulk
    }

    /// Returns the number of connections of a thread; the first threads take the remainder.
    pub(super) fn connections_of(&self, thread: u32) -> usize {
        self.numbers_of(thread).len()
    }

    /// Returns the numbers of the connections of a thread among those of all threads.
    pub(super) fn numbers_of(&self, thread: u32) -> Range<u32> {
        let (each, extra) = (
            self.connections / self.threads,
            self.connections % self.threads,
        );
        let before = |thread: u32| thread * each + thread.min(extra);
        before(thread)..before(thread + 1)
    }

    /// Returns the CPU of a thread; `None` for any.
    pub(super) fn cpu_of(&self, thread: u32) -> Option<usize> {
        let index = (thread as usize).checked_rem(self.cpus.len())?;
        self.cpus.get(index).copied()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::net::SocketAddr;

    use model::workload::Arrivals;

    use super::*;

    pub(in crate::load) fn plan() -> LoadPlan {
        LoadPlan {
            address: SocketAddr::from(([127, 0, 0, 1], 1)).into(),
            connections: 10,
            threads: 4,
            cpus: vec![0, 1],
            pace: Pace::Closed,
            settle_ns: 0,
            score_ns: 1_000_000_000,
            requests: None,
            timeout_ns: 1_000_000_000,
            record_latency: true,
            engine: Engine::Auto,
            bulk: false,
            tls: None,
            streams: None,
            pipeline: 1,
        }
    }

    #[test]
    fn every_connection_has_a_thread() {
        let shares: Vec<usize> = (0..4).map(|thread| plan().connections_of(thread)).collect();
        assert_eq!(shares, [3, 3, 2, 2]);
        let numbers = (0..4).flat_map(|thread| plan().numbers_of(thread));
        assert!(numbers.eq(0..10));
    }

    #[test]
    fn threads_take_the_cpus_in_turn() {
        assert_eq!(plan().cpu_of(3), Some(1));
        assert_eq!(
            LoadPlan {
                cpus: Vec::new(),
                ..plan()
            }
            .cpu_of(3),
            None
        );
    }

    #[test]
    fn a_plan_that_makes_no_sense_is_refused() {
        let open = |rate_rps| Pace::Open {
            rate_rps,
            arrivals: Arrivals::Uniform,
            seed: 1,
        };
        let wrong = [
            LoadPlan {
                connections: 0,
                ..plan()
            },
            LoadPlan {
                threads: 0,
                ..plan()
            },
            LoadPlan {
                threads: 11,
                ..plan()
            },
            LoadPlan {
                streams: Some(1_000_000),
                ..plan()
            },
            LoadPlan {
                score_ns: 0,
                ..plan()
            },
            LoadPlan {
                timeout_ns: 0,
                ..plan()
            },
            LoadPlan {
                pace: open(0.0),
                ..plan()
            },
            LoadPlan {
                pace: open(f64::NAN),
                ..plan()
            },
        ];
        assert!(plan().check().is_ok());
        for plan in wrong {
            assert!(plan.check().is_err(), "{plan:?}");
        }
    }
}
