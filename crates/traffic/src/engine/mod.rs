//! The server's side of a connection without a protocol: accepts, receives, sends, times out.
//!
//! One loop serves every protocol: it knows a [`Service`], which turns bytes received into bytes to
//! send. A worker is one single-threaded process with one epoll instance or ring, one listener and
//! its own CPU. It is not a thread: a second thread, even an idle one, makes every system call on a
//! socket count references to the shared table of open files. That costs 1.7 % of the CPU per
//! request (99 % interval 0.5 to 2.7 %, 40 interleaved pairs on Linux 6.18; its control,
//! 0.0 ± 0.9 %).
//!
//! What a connection does with its input is in `connection`, the same for all engines. An engine
//! decides when, and moves the bytes (`transfer`). Time is the number of seconds that one timer has
//! counted.

pub mod channel;
mod connection;
mod epoll;
mod file_part;
pub mod life;
pub mod listeners;
mod output;
mod service;
mod shared;
pub mod supervisor;
pub mod transfer;
mod uring;

use std::io;
use std::net::TcpListener;
use std::os::fd::BorrowedFd;

use model::named;
use serde::Serialize;

use channel::{Channel, Clear};
pub use file_part::{FilePart, FileWay};
use life::Life;
pub use output::Output;
pub use service::{Next, Service, Step};
pub use shared::Settings;
use shared::Shared;
use transfer::Calls;

named! {
    /// How a worker learns of events on its connections.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    pub enum Engine, "engine" {
        /// Readiness, and a system call for each piece received or sent.
        Epoll = "epoll",
        /// Completions: a system call for each batch.
        Uring = "uring",
    }
}

/// Where a worker serves: its listener, and a descriptor that is readable when it is to stop.
pub type Place<'a> = (TcpListener, BorrowedFd<'a>);

/// Serves until it is to stop, then lets the answers under way finish.
///
/// # Errors
/// `EMFILE` when not even the worker's own descriptors can be opened; those of
/// [`sys::uring::usable::try_out`], and those of setting up busy polling. Connections that fail are
/// closed and not reported.
pub fn run<S: Service>(
    engine: Engine,
    place: Place<'_>,
    service: S,
    manner: (Settings, Life),
) -> io::Result<()> {
    run_over::<S, Clear>(engine, place, service, (), manner)
}

/// Serves like [`run`], over connections of another kind; `common` is what these connections share.
///
/// # Errors
/// Those of [`run`].
pub fn run_over<S: Service, C: Channel>(
    engine: Engine,
    (listener, stop): Place<'_>,
    service: S,
    common: C::Common,
    (settings, life): (Settings, Life),
) -> io::Result<()> {
    match engine {
        Engine::Epoll => {
            let shared = Shared::<S, C, _>::new(service, common, Calls, (settings, life));
            epoll::run(listener, stop, shared)
        }
        Engine::Uring => {
            let carriage = uring::carriage(settings)?;
            let shared = Shared::<S, C, _>::new(service, common, carriage, (settings, life));
            uring::run(listener, stop, shared)
        }
    }
}
