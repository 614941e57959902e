//! Having connections accepted, and no more of them than there is room for.

use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd as _, OwnedFd};

use sys::uring::serving::{Owner, ServingRing};
use sys::{listener, socket};

/// A listener, from which the ring accepts while there is room. What waits, waits in the kernel's
/// backlog.
pub(super) struct Door {
    listener: TcpListener,
    owner: Owner,
    /// Connections that may come at one go.
    backlog: usize,
    state: DoorState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum DoorState {
    Shut,
    /// One more is accepted.
    One,
    /// One after the other is accepted.
    Many,
    /// Nothing more is accepted, but what was accepted has not been taken to its end.
    Stopping,
}

impl Door {
    /// A door that is shut.
    pub(super) fn new(listener: TcpListener, owner: Owner) -> io::Result<Self> {
        // The ring waits at a listener that blocks only.
        listener.set_nonblocking(false)?;
        let backlog = usize::try_from(listener::backlog(listener.as_fd())?);
        Ok(Self {
            listener,
            owner,
            backlog: backlog.unwrap_or(usize::MAX),
            state: DoorState::Shut,
        })
    }

    /// Takes note of whether another one is still accepted without being asked for.
    pub(super) fn note(&mut self, goes_on: bool) {
        if !goes_on {
            self.state = DoorState::Shut;
        }
    }

    /// Has connections accepted while there is room for so many. Where they might come in larger
    /// numbers than that, they are let in one by one.
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

    /// Has connections no longer accepted one after the other where they might be too many.
    #[inline]
    pub(super) fn narrow(&mut self, room: usize, ring: &mut ServingRing) -> io::Result<()> {
        if self.state != DoorState::Many || self.has_room_for_all(room) {
            return Ok(());
        }
        self.state = DoorState::Stopping;
        ring.stop_accepting(self.owner)
    }

    /// Whether there is room for all that may come at one go: those that wait, and as many that
    /// take their places while they are let in.
    fn has_room_for_all(&self, room: usize) -> bool {
        room > self.backlog.saturating_mul(2)
    }

    /// Accepts nothing from now on, except what waits, by the caller's own hands.
    pub(super) fn close(self, ring: &mut ServingRing) -> io::Result<Waiting> {
        ring.stop_accepting(self.owner)?;
        self.listener.set_nonblocking(true)?;
        Ok(Waiting(self.listener))
    }
}

/// What waits at a door that was closed. The listener blocks again when this is dropped: another worker may
/// have it too.
pub(super) struct Waiting(TcpListener);

impl Drop for Waiting {
    fn drop(&mut self) {
        // It could be made not to block, so it can be made to.
        let _ = self.0.set_nonblocking(false);
    }
}

impl Iterator for Waiting {
    type Item = OwnedFd;

    fn next(&mut self) -> Option<OwnedFd> {
        socket::accept(self.0.as_fd()).ok().flatten()
    }
}
