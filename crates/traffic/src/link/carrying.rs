//! A link at work: a thread for each direction.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::AsFd as _;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

use model::link::{LinkPlan, LinkReading};
use model::random::SplitMix64;
use serde::{Deserialize, Serialize};

use super::courier::Courier;
use super::ends;

/// A link at work, until [`Self::finish`] or it is dropped.
#[derive(Debug)]
pub struct Link {
    /// Closed, it tells both threads to stop.
    stop: PipeWriter,
    up: DirectionThread,
    down: DirectionThread,
    goes_first: bool,
}

/// What both directions did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkReadings {
    /// From the client to the server.
    pub up: LinkReading,
    pub down: LinkReading,
    /// Whether the link's threads went before all ordinary ones.
    pub went_first: bool,
}

impl Link {
    /// Takes a link into service between two devices, the client's and the server's.
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

    /// Takes the link out of service; what is under way goes with it.
    ///
    /// # Errors
    /// What ended a direction before its time.
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

/// Starts the thread of a direction; whether it goes before others is known when this returns.
fn start(
    name: &str,
    courier: Courier,
    stopped: &Arc<PipeReader>,
) -> io::Result<(DirectionThread, bool)> {
    let stopped = Arc::clone(stopped);
    let (tell, told) = mpsc::sync_channel(1);
    let run = move || {
        // Nobody listens any more only where the start was given up.
        let _ = tell.send(go_first());
        courier.drive(stopped.as_fd())
    };
    let thread = thread::Builder::new().name(name.to_owned()).spawn(run)?;
    Ok((thread, told.recv().unwrap_or(false)))
}

fn outcome(thread: DirectionThread) -> io::Result<LinkReading> {
    thread
        .join()
        .map_err(|_| io::Error::other("a thread of the link has panicked"))?
}

/// Punctual where the system lets us: before other threads, and woken by timers without the
/// usual slack of 50 µs. Whether it goes before others.
fn go_first() -> bool {
    let _ = sys::scheduling::set_timer_slack_ns(1);
    sys::scheduling::go_first().is_ok()
}
