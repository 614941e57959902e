//! A running link: a thread for each direction.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::AsFd as _;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

use model::link::{LinkPlan, LinkReading};
use model::random::SplitMix64;
use serde::{Deserialize, Serialize};

use super::courier::Courier;
use super::ends;

/// A running link; it runs until [`Self::finish`] or until it is dropped.
#[derive(Debug)]
pub struct Link {
    /// Closing it tells both threads to stop.
    stop: PipeWriter,
    up: DirectionThread,
    down: DirectionThread,
    goes_first: bool,
}

/// Readings of both directions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkReadings {
    /// From the client to the server.
    pub up: LinkReading,
    pub down: LinkReading,
    /// Whether the link's threads had priority over all ordinary ones.
    pub went_first: bool,
}

impl Link {
    /// Starts a link between two devices, the client's and the server's.
    ///
    /// # Errors
    /// `EPERM` without `CAP_NET_RAW`, `ENODEV` for a device that is not there, `ENOMEM`.
    pub fn between_devices(plan: &LinkPlan, [client, server]: [&str; 2]) -> io::Result<Self> {
        let random = SplitMix64::new(plan.seed.unwrap_or_default());
        let draws = |direction| random.clone().stream(direction);
        let (from_client, to_client) = ends::open(client)?;
        let (from_server, to_server) = ends::open(server)?;
        let up = Courier::new(from_client, to_server, plan.up, &draws(0));
        let down = Courier::new(from_server, to_client, plan.down, &draws(1));
        let (stopped, stop) = io::pipe()?;
        let stopped = Arc::new(stopped);
        let (up, up_first) = start("link-up", up, &stopped)?;
        let (down, down_first) = start("link-down", down, &stopped)?;
        Ok(Self {
            stop,
            up,
            down,
            goes_first: up_first && down_first,
        })
    }

    /// Stops the link; packets under way are lost.
    ///
    /// # Errors
    /// The error that ended a direction early.
    pub fn finish(self) -> io::Result<LinkReadings> {
        drop(self.stop);
        Ok(LinkReadings {
            up: outcome(self.up)?,
            down: outcome(self.down)?,
            went_first: self.goes_first,
        })
    }
}

type DirectionThread = JoinHandle<io::Result<LinkReading>>;

/// Starts the thread of a direction. Returns also whether it has priority over other threads, which
/// is known by then.
fn start(
    name: &str,
    courier: Courier,
    stopped: &Arc<PipeReader>,
) -> io::Result<(DirectionThread, bool)> {
    let stopped = Arc::clone(stopped);
    let (sender, receiver) = mpsc::sync_channel(1);
    let run = move || {
        // Sending fails only where the start was given up.
        let _ = sender.send(go_first());
        courier.drive(stopped.as_fd())
    };
    let thread = thread::Builder::new().name(name.to_owned()).spawn(run)?;
    Ok((thread, receiver.recv().unwrap_or(false)))
}

fn outcome(thread: DirectionThread) -> io::Result<LinkReading> {
    thread
        .join()
        .map_err(|_| io::Error::other("a thread of the link has panicked"))?
}

/// Makes the calling thread as punctual as the system allows: with priority over other threads,
/// and woken by timers without the usual slack of 50 µs. Returns whether it has that priority.
fn go_first() -> bool {
    let _ = sys::scheduling::set_timer_slack_ns(1);
    sys::scheduling::go_first().is_ok()
}
