//! A connection, and what the ring does for it.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};

use sys::socket;
use sys::uring::serving::{Owner, ServingRing};

use crate::engine::channel::Channel;
use crate::engine::connection::Connection;
use crate::engine::life::Count;
use crate::engine::service::Service;
use crate::engine::shared::Shared;
use crate::engine::transfer::Transfer;

pub(super) struct Seat<C, M> {
    pub(super) connection: Connection<C, M>,
    pub(super) owner: Owner,
    /// The connection has sent it, but the socket has not taken it yet.
    pub(super) unsent: Vec<u8>,
    /// The ring has received it, but the connection has to send something first.
    pub(super) kept: Vec<u8>,
    /// The peer has closed, behind what is kept.
    pub(super) has_ended: bool,
    /// What it held of memory when it was last weighed, bytes.
    pub(super) held_bytes: usize,
    /// The ring is to receive once, and then again.
    rearms: bool,
    receiving: Receiving,
    awaits_room: bool,
    /// The ring's count when something was last queued for it.
    queued_at: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Receiving {
    No,
    Yes,
    /// It was told to stop, and has not told that it has.
    Stopping,
}

impl<C: Channel, M: Default> Seat<C, M> {
    pub(super) fn new(connection: Connection<C, M>, owner: Owner, rearms: bool) -> Self {
        Self {
            connection,
            owner,
            unsent: Vec::new(),
            kept: Vec::new(),
            has_ended: false,
            held_bytes: 0,
            rearms,
            receiving: Receiving::No,
            awaits_room: false,
            queued_at: None,
        }
    }

    /// What it holds of memory, bytes.
    #[inline]
    pub(super) fn weigh<S: Service<Memory = M>>(&self, service: &S) -> usize {
        self.connection.held_bytes(service) + self.unsent.capacity() + self.kept.capacity()
    }

    /// Whether what is received has to wait.
    #[inline]
    pub(super) fn is_busy(&self) -> bool {
        self.waits_for_room() || !self.kept.is_empty()
    }

    #[inline]
    pub(super) fn waits_for_room(&self) -> bool {
        !self.unsent.is_empty() || self.connection.waits_for_room()
    }

    /// Whether the connection has something to receive that the ring will not tell of again.
    #[inline]
    pub(super) fn can_go_on(&self) -> bool {
        (self.has_ended || !self.kept.is_empty()) && !self.waits_for_room()
    }

    /// Whether its time is up; then the peer was told as far as that can be.
    pub(super) fn is_overdue<S, T: Transfer>(&mut self, shared: &mut Shared<S, C, T>) -> bool {
        if self.unsent.is_empty() {
            return self.connection.is_overdue(shared);
        }
        let is_late = self.connection.is_late(shared);
        if is_late {
            shared.life.count(Count::Slow);
        }
        is_late
    }

    /// Takes note of whether the ring goes on receiving.
    #[inline]
    pub(super) fn note_receiving(&mut self, goes_on: bool) {
        if !goes_on {
            self.receiving = Receiving::No;
        }
    }

    /// Takes note of room to send, of which the ring tells once.
    pub(super) fn note_room(&mut self) {
        self.awaits_room = false;
    }

    /// Has the ring do what the connection waits for: room, or bytes.
    #[inline]
    pub(super) fn queue(&mut self, ring: &mut ServingRing) -> io::Result<()> {
        if self.waits_for_room() {
            return self.queue_room(ring);
        }
        if self.receiving == Receiving::No && !self.has_ended {
            self.receiving = Receiving::Yes;
            ring.receive(self.owner, self.socket(), !self.rearms)?;
            self.note_queued(ring);
        }
        Ok(())
    }

    /// A peer that does not read is not listened to.
    fn queue_room(&mut self, ring: &mut ServingRing) -> io::Result<()> {
        if self.receiving == Receiving::Yes {
            self.receiving = Receiving::Stopping;
            ring.stop_receiving(self.owner)?;
        }
        if !self.awaits_room {
            self.awaits_room = true;
            ring.await_room(self.owner, self.socket())?;
        }
        self.note_queued(ring);
        Ok(())
    }

    /// Has the ring send what was gathered.
    #[inline]
    pub(super) fn queue_send(&mut self, ring: &mut ServingRing) -> io::Result<()> {
        ring.send(self.owner, self.socket())?;
        self.note_queued(ring);
        Ok(())
    }

    /// Sends of what is unsent as much as there is room for.
    pub(super) fn send_unsent(&mut self) -> io::Result<()> {
        let sent = socket::send(self.socket(), &self.unsent)?.unwrap_or(0);
        self.unsent.drain(..sent);
        Ok(())
    }

    /// Closes the connection. The ring holds the socket for as long as something is under way on
    /// it, so that is ended first.
    pub(super) fn close(self, ring: &mut ServingRing) -> io::Result<()> {
        if self.queued_at == Some(ring.entered()) {
            // Or it would meet whoever gets the number of this descriptor next.
            ring.enter(false)?;
        }
        if self.receiving != Receiving::No || self.awaits_room {
            // An error means that the peer was faster.
            let _ = self.connection.socket().shutdown(std::net::Shutdown::Both);
        }
        Ok(())
    }

    fn note_queued(&mut self, ring: &ServingRing) {
        self.queued_at = Some(ring.entered());
    }

    fn socket(&self) -> BorrowedFd<'_> {
        self.connection.socket().as_fd()
    }
}
