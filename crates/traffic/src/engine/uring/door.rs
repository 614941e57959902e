//! Having the ring accept connections, but no more of them than there is room for.

use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd as _, OwnedFd};

use sys::uring::serving::{Owner, ServingRing};
use sys::{listener, socket};

/// A listener from which the ring accepts while there is room. Further connections wait in the
/// kernel's backlog.
pub(super) struct Door {
    listener: TcpListener,
    owner: Owner,
    /// How many connections may arrive at once.
    backlog: usize,
    state: DoorState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum DoorState {
    Shut,
    /// One more is to be accepted.
    One,
    /// Connections are accepted one after the other.
    Many,
    /// Nothing more is accepted, but connections accepted earlier have not all been taken.
    Stopping,
}

impl Door {
    /// Makes a door that is shut.
    pub(super) fn new(listener: TcpListener, owner: Owner) -> io::Result<Self> {
        // The ring waits only at a blocking listener.
        listener.set_nonblocking(false)?;
        let backlog = usize::try_from(listener::backlog(listener.as_fd())?);
        Ok(Self {
            listener,
            owner,
            backlog: backlog.unwrap_or(usize::MAX),
            state: DoorState::Shut,
        })
    }

    /// Records whether the ring goes on accepting without being asked again.
    pub(super) fn note(&mut self, goes_on: bool) {
        if !goes_on {
            self.state = DoorState::Shut;
        }
    }

    /// Has connections accepted while there is room for `room` of them. Where more than that might
    /// arrive at once, they are let in one by one.
    pub(super) fn open(&mut self, room: usize, ring: &mut ServingRing) -> io::Result<()> {
        self.narrow(room, ring)?;
        if self.state != DoorState::Shut || room == 0 {
            return Ok(());
        }
        let is_wide = self.has_room_for_all(room);
        self.state = if is_wide {
            DoorState::Many
        } else {
            DoorState::One
        };
        ring.accept(self.owner, self.listener.as_fd(), is_wide)
    }

    /// Stops the continuous accepting where it might let in too many.
    #[inline]
    pub(super) fn narrow(&mut self, room: usize, ring: &mut ServingRing) -> io::Result<()> {
        if self.state != DoorState::Many || self.has_room_for_all(room) {
            return Ok(());
        }
        self.state = DoorState::Stopping;
        ring.stop_accepting(self.owner)
    }

    /// Whether there is room for all that may arrive at once: those that wait, and as many again
    /// that take their places while they are let in.
    fn has_room_for_all(&self, room: usize) -> bool {
        room > self.backlog.saturating_mul(2)
    }

    /// Stops accepting through the ring. The caller accepts those that still wait.
    pub(super) fn close(self, ring: &mut ServingRing) -> io::Result<Waiting> {
        ring.stop_accepting(self.owner)?;
        self.listener.set_nonblocking(true)?;
        Ok(Waiting(self.listener))
    }
}

/// The connections that wait at a closed door. When this is dropped, the listener blocks again:
/// another worker may have it too.
pub(super) struct Waiting(TcpListener);

impl Drop for Waiting {
    fn drop(&mut self) {
        // It could be made non-blocking, so it can be made blocking again.
        let _ = self.0.set_nonblocking(false);
    }
}

impl Iterator for Waiting {
    type Item = OwnedFd;

    fn next(&mut self) -> Option<OwnedFd> {
        socket::accept(self.0.as_fd()).ok().flatten()
    }
}
