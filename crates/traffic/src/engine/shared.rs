//! What the connections of a worker share, whichever engine it runs on.

use sys::listener::BusyPoll;

use super::channel::Channel;
use super::service::Service;

/// Room to receive into; the most that a service can be shown at once.
const INPUT_BYTES: usize = 64 * 1024;

/// How a worker treats its connections. Times are kept to the second.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// A connection without a request, or whose peer does not read, is closed after this.
    pub idle_timeout_s: u32,
    /// A request must be complete so long after its first byte.
    pub request_timeout_s: u32,
    /// After a stop, answers under way have so long to finish.
    pub drain_timeout_s: u32,
    /// Connections held open at once; further ones wait in the kernel's backlog.
    pub max_connections: usize,
    /// Arm each connection for one event only and again after each, as servers on a shared event
    /// queue do. It costs time per request and gains nothing here.
    pub rearm_oneshot: bool,
    /// Look at the device before waiting for what it has to tell; `None` to wait at once.
    pub busy_poll: Option<BusyPoll>,
}

pub(super) struct Shared<S, C: Channel, T> {
    pub(super) service: S,
    pub(super) common: C::Common,
    pub(super) transfer: T,
    pub(super) settings: Settings,
    /// Bytes are received here and taken from here; only an incomplete request is copied.
    pub(super) input: Vec<u8>,
    /// Those that were open when the batch under way began.
    pub(super) connections: usize,
    /// Full seconds since the start.
    second: u32,
    /// The second at which draining is given up.
    drained_by: Option<u32>,
}

impl<S, C: Channel, T> Shared<S, C, T> {
    pub(super) fn new(service: S, common: C::Common, transfer: T, settings: Settings) -> Self {
        Self {
            service,
            common,
            transfer,
            settings,
            input: vec![0; INPUT_BYTES],
            connections: 0,
            second: 0,
            drained_by: None,
        }
    }

    /// The second by which at least `timeout_s` have gone by: the present one has begun already.
    pub(super) fn deadline(&self, timeout_s: u32) -> u32 {
        self.second.saturating_add(timeout_s).saturating_add(1)
    }

    /// Whether that second has come.
    pub(super) fn is_past(&self, deadline_second: u32) -> bool {
        deadline_second <= self.second
    }

    pub(super) fn is_draining(&self) -> bool {
        self.drained_by.is_some()
    }

    /// Whether nothing is left to wait for, with so many connections.
    pub(super) fn has_finished(&self, connections: usize) -> bool {
        self.drained_by
            .is_some_and(|second| connections == 0 || self.is_past(second))
    }
}

impl<S: Service, C: Channel, T> Shared<S, C, T> {
    pub(super) fn begin_second(&mut self) {
        self.second = self.second.saturating_add(1);
        self.service.second_began(sys::clock::wall());
    }

    /// Every connection ends after the answer under way, and those that are not done by the
    /// drain's timeout are given up.
    pub(super) fn drain(&mut self) {
        self.service.drain();
        self.drained_by = Some(self.deadline(self.settings.drain_timeout_s));
    }
}
