//! What the connections of a worker share, whichever engine it runs on.

use std::io;

use sys::listener::BusyPoll;

use super::channel::Channel;
use super::life::{Count, Life, Moment};
use super::service::Service;

/// Size of the receive buffer, bytes; a service never sees more input than that at once.
const INPUT_BYTES: usize = 64 * 1024;

/// How a worker treats its connections. Times are accurate to a second.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// A connection without a request, or whose peer does not read, is closed after this time.
    pub idle_timeout_s: u32,
    /// A request must be complete within this time after its first byte.
    pub request_timeout_s: u32,
    /// After a stop, answers under way have this time to finish.
    pub drain_timeout_s: u32,
    /// Connections held open at once; further ones wait in the kernel's backlog.
    pub max_connections: usize,
    /// Least rate of a peer that has not taken all of its answer: on average it must have taken
    /// this many bytes a second once the idle timeout is over; at least 1.
    pub least_rate_bytes_s: u64,
    /// How much of this process's memory all connections together may hold; while they hold more,
    /// the largest is closed. It does not limit what the kernel holds for their sockets.
    pub memory_bytes: usize,
    /// Arm each connection for one event only and again after each, as servers with a shared event
    /// queue do. It costs time per request and gains nothing here.
    pub rearm_oneshot: bool,
    /// Poll the network device before waiting for its interrupts; `None` to wait at once.
    pub busy_poll: Option<BusyPoll>,
}

pub(super) struct Shared<S, C: Channel, T> {
    pub(super) service: S,
    pub(super) common: C::Common,
    pub(super) transfer: T,
    pub(super) settings: Settings,
    pub(super) life: Life,
    /// Memory that the connections hold, by their last weighing, bytes.
    pub(super) held_bytes: usize,
    /// Receive buffer, from which requests are taken; only an incomplete request is copied.
    pub(super) input: Vec<u8>,
    /// Connections that were open when the current batch began.
    pub(super) connections: usize,
    /// Full seconds since the start.
    second: u32,
    /// The second at which draining is given up.
    drained_by: Option<u32>,
}

impl<S, C: Channel, T> Shared<S, C, T> {
    pub(super) fn new(
        service: S,
        common: C::Common,
        transfer: T,
        (settings, life): (Settings, Life),
    ) -> Self {
        Self {
            service,
            common,
            transfer,
            settings,
            life,
            held_bytes: 0,
            input: vec![0; INPUT_BYTES],
            connections: 0,
            second: 0,
            drained_by: None,
        }
    }

    /// The second by which at least `timeout_s` seconds have passed. It counts one more, because
    /// the present second has already begun.
    pub(super) fn deadline(&self, timeout_s: u32) -> u32 {
        self.second.saturating_add(timeout_s).saturating_add(1)
    }

    /// Whether that second has come.
    pub(super) fn is_past(&self, deadline_second: u32) -> bool {
        deadline_second <= self.second
    }

    /// The second in which a peer that has taken `taken_bytes` since `begun` is too slow at the
    /// latest.
    pub(super) fn slowest_end(&self, begun: u32, taken_bytes: u64) -> u32 {
        let earned_s = taken_bytes / self.settings.least_rate_bytes_s.max(1);
        let earned_s = u32::try_from(earned_s).unwrap_or(u32::MAX);
        let timeout_s = self.settings.idle_timeout_s;
        begun
            .saturating_add(timeout_s)
            .saturating_add(1)
            .saturating_add(earned_s)
    }

    /// Whether a peer that has taken `taken_bytes` since `begun` kept to the least rate.
    pub(super) fn is_fast_enough(&self, begun: u32, taken_bytes: u64) -> bool {
        let earned_s = taken_bytes / self.settings.least_rate_bytes_s.max(1);
        earned_s >= u64::from(self.second - begun)
    }

    pub(super) fn second(&self) -> u32 {
        self.second
    }

    /// Records that a connection holds `now` bytes instead of `before`.
    #[inline]
    pub(super) fn weigh(&mut self, before: usize, now: usize) {
        self.held_bytes = self.held_bytes.wrapping_sub(before).wrapping_add(now);
    }

    /// Whether the connections hold more memory than allowed.
    #[inline]
    pub(super) fn is_too_heavy(&self) -> bool {
        self.held_bytes > self.settings.memory_bytes
    }

    /// Counts a connection that ended by an error, if the peer caused it.
    pub(super) fn note_error(&self, error: &io::Error) {
        if matches!(
            error.kind(),
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe
        ) {
            self.life.count(Count::Reset);
        }
    }

    pub(super) fn is_draining(&self) -> bool {
        self.drained_by.is_some()
    }

    /// Whether draining is over, with this many connections left.
    pub(super) fn has_finished(&self, connections: usize) -> bool {
        self.drained_by
            .is_some_and(|second| connections == 0 || self.is_past(second))
    }
}

impl<S: Service, C: Channel, T> Shared<S, C, T> {
    pub(super) fn begin_second(&mut self) -> io::Result<()> {
        self.second = self.second.saturating_add(1);
        self.service.second_began(sys::clock::wall());
        self.life.tell(Moment::Second)
    }

    /// Begins to drain: every connection ends after the answer under way, and connections that are
    /// not done by the drain timeout are given up.
    pub(super) fn drain(&mut self) -> io::Result<()> {
        self.service.drain();
        self.drained_by = Some(self.deadline(self.settings.drain_timeout_s));
        self.life.tell(Moment::Draining)
    }
}
