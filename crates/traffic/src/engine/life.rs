//! What a worker counts and reports of itself while it serves.

use std::io;
use std::ops::AddAssign;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use sys::tally_page::TallyPage;

/// The events that are counted, by their places in the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    Accepted,
    Refused,
    TimedOut,
    Slow,
    Reset,
    Shed,
}

/// Connections of a server since it started. A connection that ends in good order is counted as
/// accepted only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Counts {
    /// All connections accepted.
    pub accepted: u64,
    /// Closed after an error was answered: the input was not a request, or larger than is read.
    pub refused: u64,
    /// Closed because no request, or only a part of one, came in time.
    pub timed_out: u64,
    /// Closed because the peer did not read its answer, or read it too slowly.
    pub slow_readers: u64,
    /// Reset by the peer.
    pub reset: u64,
    /// Closed to keep within the memory limit.
    pub shed: u64,
}

impl From<&TallyPage> for Counts {
    fn from(page: &TallyPage) -> Self {
        let numbers = page.read();
        let number = |count: Count| numbers[count as usize];
        Self {
            accepted: number(Count::Accepted),
            refused: number(Count::Refused),
            timed_out: number(Count::TimedOut),
            slow_readers: number(Count::Slow),
            reset: number(Count::Reset),
            shed: number(Count::Shed),
        }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.accepted += other.accepted;
        self.refused += other.refused;
        self.timed_out += other.timed_out;
        self.slow_readers += other.slow_readers;
        self.reset += other.reset;
        self.shed += other.shed;
    }
}

/// The moments at which a worker reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Everything it needs is open; next it accepts connections.
    Ready,
    /// A second has begun.
    Second,
    /// It accepts no more connections.
    Draining,
}

/// Called by a worker at each moment; an error ends the worker.
pub type Listener = Box<dyn FnMut(Moment) -> io::Result<()>>;

/// Where a worker counts, and whom it reports to.
pub struct Life {
    pub counts: Arc<TallyPage>,
    pub listener: Listener,
}

impl Life {
    pub(super) fn tell(&mut self, moment: Moment) -> io::Result<()> {
        (self.listener)(moment)
    }

    pub(super) fn count(&self, what: Count) {
        self.counts.add(what as usize, 1);
    }
}
