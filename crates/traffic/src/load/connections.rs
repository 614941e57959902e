//! The connections of one worker: opening them, giving up on them, and opening them again.

use std::io;

use super::carrier::{Carrier, Load, ReceivedPiece};
use super::outcome::ConnectionCounts;
use super::recorder::RequestTimes;
use crate::protocol::Protocol;

/// Pause before the first attempt after a failure. It doubles with each further failure, up to the
/// maximum.
const BACKOFF_MIN_NS: u64 = 1_000_000;
const BACKOFF_MAX_NS: u64 = 100_000_000;

/// The stage that a connection is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Closed until this moment.
    Down {
        until_ns: u64,
    },
    Opening {
        since_ns: u64,
    },
    /// Open, with no request under way.
    Idle,
    /// The socket took part of a request; the rest waits for room.
    Sending,
    /// The whole request has been sent.
    Waiting,
}

impl Stage {
    /// Whether a request is under way and has no fate yet.
    pub(super) fn has_request(self) -> bool {
        matches!(self, Self::Sending | Self::Waiting)
    }
}

/// One connection and the request on it.
pub(super) struct Connection<E> {
    pub(super) stage: Stage,
    pub(super) exchange: E,
    pub(super) request: RequestTimes,
    /// When the request left, or when the latest part of a long answer came.
    pub(super) heard_ns: u64,
    was_open: bool,
    /// Times in a row that the connection failed, or was closed without one answer.
    failures_in_row: u32,
}

impl<E> Connection<E> {
    fn new(exchange: E) -> Self {
        Self {
            stage: Stage::Down { until_ns: 0 },
            exchange,
            request: RequestTimes::default(),
            heard_ns: 0,
            was_open: false,
            failures_in_row: 0,
        }
    }

    /// Notes a whole answer: earlier failures no longer count.
    #[inline]
    pub(super) fn reset_failures(&mut self) {
        self.failures_in_row = 0;
    }
}

/// All connections of one worker, and the carrier of their bytes.
pub(super) struct Connections<E, C> {
    pub(super) carrier: C,
    slots: Vec<Connection<E>>,
    counts: ConnectionCounts,
    /// When the next closed connection may be opened again; `u64::MAX` when none may.
    next_opening_ns: u64,
    may_open: bool,
    last_failure: Option<io::Error>,
}

impl<E, C: Carrier> Connections<E, C> {
    /// Makes as many closed connections as there are exchanges.
    pub(super) fn new(
        load: &Load<'_, C::Request>,
        exchanges: impl Iterator<Item = E>,
    ) -> io::Result<Self> {
        Ok(Self {
            carrier: C::new(load)?,
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
        self.carrier.counts().unwrap_or(self.counts)
    }

    /// Returns why a connection last failed to open.
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

    /// Returns the moment by which [`Self::tend`] must be called again.
    pub(super) fn next_opening_ns(&self) -> u64 {
        self.next_opening_ns
    }

    pub(super) fn open_count(&self) -> usize {
        let is_open = |connection: &&Connection<E>| {
            !matches!(connection.stage, Stage::Down { .. } | Stage::Opening { .. })
        };
        self.slots.iter().filter(is_open).count()
    }

    /// Returns what came on a connection, with its exchange; `None` when nothing is there.
    #[inline]
    pub(super) fn receive(
        &mut self,
        slot: usize,
    ) -> Option<(io::Result<ReceivedPiece<'_, C::Input>>, &mut E)> {
        let piece = self.carrier.receive(slot).transpose()?;
        Some((piece, &mut self.slots[slot].exchange))
    }

    /// Sends the exchange's request, or the rest of it, as far as possible without waiting.
    #[inline]
    pub(super) fn send(
        &mut self,
        slot: usize,
        is_new: bool,
        protocol: &impl Protocol<Exchange = E, Request = C::Request>,
    ) -> io::Result<()> {
        let request = protocol.request(&self.slots[slot].exchange);
        let is_whole = if is_new {
            self.carrier.send(slot, request)
        } else {
            self.carrier.resume(slot, request)
        }?;
        self.slots[slot].stage = if is_whole {
            Stage::Waiting
        } else {
            Stage::Sending
        };
        Ok(())
    }

    /// Opens the connections that are due and gives up on attempts that take too long.
    pub(super) fn tend(&mut self, now_ns: u64) {
        self.next_opening_ns = u64::MAX;
        for slot in 0..self.slots.len() {
            match self.slots[slot].stage {
                Stage::Down { until_ns } if until_ns <= now_ns && self.may_open => {
                    self.open(slot, now_ns);
                }
                Stage::Down { until_ns } => self.open_not_before(until_ns),
                Stage::Opening { since_ns } if since_ns + C::PATIENCE_NS <= now_ns => {
                    self.fail(slot, now_ns, io::Error::from(io::ErrorKind::TimedOut));
                }
                Stage::Opening { since_ns } => self.open_not_before(since_ns + C::PATIENCE_NS),
                _ => {}
            }
        }
    }

    /// Finishes an attempt to connect; true when the connection is open.
    pub(super) fn finish_opening(&mut self, slot: usize, now_ns: u64) -> bool {
        match self.carrier.finish_opening(slot) {
            Ok(true) => {}
            Ok(false) => return false,
            Err(error) => {
                self.fail(slot, now_ns, error);
                return false;
            }
        }
        let connection = &mut self.slots[slot];
        connection.stage = Stage::Idle;
        if std::mem::replace(&mut connection.was_open, true) {
            self.counts.reopened += 1;
        } else {
            self.counts.opened += 1;
        }
        true
    }

    /// Closes a connection and opens a new one in its place: at once for the first time after an
    /// answer, otherwise after a growing pause, so that a server that hangs up is not hammered.
    pub(super) fn reopen(&mut self, slot: usize, now_ns: u64) {
        self.close(slot);
        let failures_in_row = self.slots[slot].failures_in_row;
        self.slots[slot].failures_in_row = failures_in_row.saturating_add(1);
        if failures_in_row == 0 && self.may_open {
            self.open(slot, now_ns);
        } else {
            self.pause(slot, now_ns, failures_in_row);
        }
    }

    /// Prevents connections from being opened from now on.
    pub(super) fn stop_opening(&mut self) {
        self.may_open = false;
        self.next_opening_ns = u64::MAX;
    }

    pub(super) fn close(&mut self, slot: usize) {
        self.carrier.close(slot);
        self.slots[slot].stage = Stage::Down { until_ns: u64::MAX };
    }

    fn open(&mut self, slot: usize, now_ns: u64) {
        match self.carrier.open(slot) {
            Ok(()) => {
                self.slots[slot].stage = Stage::Opening { since_ns: now_ns };
                self.open_not_before(now_ns + C::PATIENCE_NS);
            }
            Err(error) => self.fail(slot, now_ns, error),
        }
    }

    fn fail(&mut self, slot: usize, now_ns: u64, error: io::Error) {
        self.counts.failed += 1;
        self.last_failure = Some(error);
        self.close(slot);
        let failures_in_row = self.slots[slot].failures_in_row;
        self.slots[slot].failures_in_row = failures_in_row.saturating_add(1);
        self.pause(slot, now_ns, failures_in_row);
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
