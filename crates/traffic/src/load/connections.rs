//! The connections of one worker: opening, waiting, giving up, opening again.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use sys::epoll::{Epoll, Event, Events, Interest};
use sys::socket;

use super::outcome::ConnectionCounts;
use super::recorder::Request;

/// Before the first attempt after a failure; doubles with each further one.
const BACKOFF_MIN_NS: u64 = 1_000_000;
const BACKOFF_MAX_NS: u64 = 100_000_000;
/// The longest that a connection may take to open.
const CONNECT_PATIENCE_NS: u64 = 2_000_000_000;

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Closed until this moment.
    Down {
        until_ns: u64,
    },
    Opening {
        since_ns: u64,
    },
    /// Open, with no request out.
    Idle,
    /// The socket took part of a request; the rest waits for room.
    Sending,
    /// The whole request is out.
    Waiting,
}

impl Stage {
    /// Whether a request is out and has no fate yet.
    pub(super) fn has_request(self) -> bool {
        matches!(self, Self::Sending | Self::Waiting)
    }
}

/// One connection and the request on it.
pub(super) struct Connection<E> {
    socket: Option<OwnedFd>,
    /// Distinguishes an event of this socket from one of the socket before it.
    generation: u32,
    pub(super) stage: Stage,
    pub(super) exchange: E,
    pub(super) request: Request,
    /// Bytes of the request that the socket has taken.
    pub(super) taken: usize,
    /// Watched for room to write as well.
    wants_room: bool,
    was_open: bool,
    /// Times in a row that it failed, or was closed without one answer.
    fruitless: u32,
}

impl<E> Connection<E> {
    fn new(exchange: E) -> Self {
        Self {
            socket: None,
            generation: 0,
            stage: Stage::Down { until_ns: 0 },
            exchange,
            request: Request::default(),
            taken: 0,
            wants_room: false,
            was_open: false,
            fruitless: 0,
        }
    }

    pub(super) fn socket(&self) -> Option<BorrowedFd<'_>> {
        self.socket.as_ref().map(OwnedFd::as_fd)
    }

    /// A whole answer came: whatever failed before is forgiven.
    #[inline]
    pub(super) fn bore_fruit(&mut self) {
        self.fruitless = 0;
    }
}

/// All connections of one worker, and what it waits for them with.
pub(super) struct Connections<E> {
    address: SocketAddr,
    epoll: Epoll,
    slots: Vec<Connection<E>>,
    counts: ConnectionCounts,
    /// When the next closed connection may be opened again; `u64::MAX` for none.
    next_opening_ns: u64,
    may_open: bool,
    last_failure: Option<io::Error>,
}

impl<E> Connections<E> {
    /// Makes as many closed connections as there are exchanges.
    pub(super) fn new(address: SocketAddr, exchanges: impl Iterator<Item = E>) -> io::Result<Self> {
        Ok(Self {
            address,
            epoll: Epoll::new()?,
            slots: exchanges.map(Connection::new).collect(),
            counts: ConnectionCounts::default(),
            next_opening_ns: 0,
            may_open: true,
            last_failure: None,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn counts(&self) -> ConnectionCounts {
        self.counts
    }

    /// Why a connection last failed to open.
    pub(super) fn last_failure(&self) -> String {
        self.last_failure.as_ref().map_or_else(
            || "no answer to the first packet".to_owned(),
            ToString::to_string,
        )
    }

    #[inline]
    pub(super) fn at(&mut self, slot: usize) -> &mut Connection<E> {
        &mut self.slots[slot]
    }

    pub(super) fn stage(&self, slot: usize) -> Stage {
        self.slots[slot].stage
    }

    /// The moment by which [`Self::tend`] is to be called again.
    pub(super) fn next_opening_ns(&self) -> u64 {
        self.next_opening_ns
    }

    pub(super) fn open_count(&self) -> usize {
        let is_open = |connection: &&Connection<E>| {
            !matches!(connection.stage, Stage::Down { .. } | Stage::Opening { .. })
        };
        self.slots.iter().filter(is_open).count()
    }

    /// Waits for something to happen on a connection.
    pub(super) fn wait(&self, events: &mut Events, timeout_ns: u64) -> io::Result<()> {
        self.epoll.wait(events, Some(timeout_ns))
    }

    /// The connection that an event is about; `None` when that socket is closed by now.
    #[inline]
    pub(super) fn slot_of(&self, event: &Event) -> Option<usize> {
        let slot = (event.token & u64::from(u32::MAX)) as usize;
        let generation = (event.token >> 32) as u32;
        (self.slots.get(slot)?.generation == generation).then_some(slot)
    }

    /// Opens what is due to be opened and gives up on what takes too long.
    pub(super) fn tend(&mut self, now_ns: u64) {
        self.next_opening_ns = u64::MAX;
        for slot in 0..self.slots.len() {
            match self.slots[slot].stage {
                Stage::Down { until_ns } if until_ns <= now_ns && self.may_open => {
                    self.open(slot, now_ns);
                }
                Stage::Down { until_ns } => self.open_not_before(until_ns),
                Stage::Opening { since_ns } if since_ns + CONNECT_PATIENCE_NS <= now_ns => {
                    self.fail(slot, now_ns, io::Error::from(io::ErrorKind::TimedOut));
                }
                _ => {}
            }
        }
    }

    /// Learns how an attempt to connect ended; true when the connection is open.
    pub(super) fn finish_opening(&mut self, slot: usize, now_ns: u64) -> bool {
        let connection = &mut self.slots[slot];
        let Some(socket) = &connection.socket else {
            return false;
        };
        let token = token(slot, connection.generation);
        let outcome = socket::connect_outcome(socket.as_fd()).and_then(|()| {
            self.epoll
                .modify(socket.as_fd(), token, Interest::READ.on_change())
        });
        if let Err(error) = outcome {
            self.fail(slot, now_ns, error);
            return false;
        }
        connection.stage = Stage::Idle;
        if std::mem::replace(&mut connection.was_open, true) {
            self.counts.reopened += 1;
        } else {
            self.counts.opened += 1;
        }
        true
    }

    /// Closes a connection and opens a new one in its place: at once after an answer, after a
    /// growing pause when there was none, so that a server that hangs up is not hammered.
    pub(super) fn reopen(&mut self, slot: usize, now_ns: u64) {
        self.close(slot);
        let fruitless = self.slots[slot].fruitless;
        self.slots[slot].fruitless = fruitless.saturating_add(1);
        if fruitless == 0 && self.may_open {
            self.open(slot, now_ns);
        } else {
            self.pause(slot, now_ns, fruitless);
        }
    }

    /// Opens no connection from now on.
    pub(super) fn stop_opening(&mut self) {
        self.may_open = false;
        self.next_opening_ns = u64::MAX;
    }

    /// Sets whether to be woken when there is room to write.
    pub(super) fn want_room(&mut self, slot: usize, wanted: bool) -> io::Result<()> {
        let connection = &mut self.slots[slot];
        if connection.wants_room == wanted {
            return Ok(());
        }
        connection.wants_room = wanted;
        let interest = if wanted {
            Interest::READ_WRITE.on_change()
        } else {
            Interest::READ.on_change()
        };
        let token = token(slot, connection.generation);
        match &connection.socket {
            Some(socket) => self.epoll.modify(socket.as_fd(), token, interest),
            None => Ok(()),
        }
    }

    /// Closes a connection; the reset leaves no TIME_WAIT that would use up local ports.
    pub(super) fn close(&mut self, slot: usize) {
        let connection = &mut self.slots[slot];
        if let Some(socket) = connection.socket.take() {
            let _ = socket::reset_on_close(socket.as_fd());
        }
        connection.generation = connection.generation.wrapping_add(1);
        connection.wants_room = false;
        connection.stage = Stage::Down { until_ns: u64::MAX };
    }

    fn open(&mut self, slot: usize, now_ns: u64) {
        let token = token(slot, self.slots[slot].generation);
        let opening = socket::connect(self.address).and_then(|socket| {
            self.epoll.add(socket.as_fd(), token, Interest::WRITE)?;
            Ok(socket)
        });
        match opening {
            Ok(socket) => {
                self.slots[slot].socket = Some(socket);
                self.slots[slot].stage = Stage::Opening { since_ns: now_ns };
                self.open_not_before(now_ns + CONNECT_PATIENCE_NS);
            }
            Err(error) => self.fail(slot, now_ns, error),
        }
    }

    fn fail(&mut self, slot: usize, now_ns: u64, error: io::Error) {
        self.counts.failed += 1;
        self.last_failure = Some(error);
        self.close(slot);
        let fruitless = self.slots[slot].fruitless;
        self.slots[slot].fruitless = fruitless.saturating_add(1);
        self.pause(slot, now_ns, fruitless);
    }

    fn pause(&mut self, slot: usize, now_ns: u64, failures: u32) {
        let pause_ns = (BACKOFF_MIN_NS << failures.min(16)).min(BACKOFF_MAX_NS);
        let until_ns = now_ns + pause_ns;
        self.slots[slot].stage = Stage::Down { until_ns };
        self.open_not_before(until_ns);
    }

    fn open_not_before(&mut self, moment_ns: u64) {
        if self.may_open {
            self.next_opening_ns = self.next_opening_ns.min(moment_ns);
        }
    }
}

fn token(slot: usize, generation: u32) -> u64 {
    u64::from(generation) << 32 | slot as u64
}
