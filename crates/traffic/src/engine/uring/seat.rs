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
    /// Bytes that the connection has sent, but the socket has not accepted yet.
    pub(super) unsent: Vec<u8>,
    /// Bytes that the ring has received, but the connection has to send something first.
    pub(super) kept: Vec<u8>,
    /// The peer has closed, after the bytes in `kept`.
    pub(super) has_ended: bool,
    /// Memory that the seat held when it was last weighed, bytes.
    pub(super) held_bytes: usize,
    /// The ring is to receive once, and is then asked again.
    rearms: bool,
    receiving: Receiving,
    awaits_room: bool,
    /// The ring's [`ServingRing::entered`] when something was last queued for this connection.
    queued_at: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Receiving {
    No,
    Yes,
    /// The ring was asked to stop, and has not reported that it has.
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

    /// Memory that the seat holds, bytes.
    #[inline]
    pub(super) fn weigh<S: Service<Memory = M>>(&self, service: &S) -> usize {
        self.connection.held_bytes(service) + self.unsent.capacity() + self.kept.capacity()
    }

    /// Whether received bytes have to wait.
    #[inline]
    pub(super) fn is_busy(&self) -> bool {
        self.waits_for_room() || !self.kept.is_empty()
    }

    #[inline]
    pub(super) fn waits_for_room(&self) -> bool {
        !self.unsent.is_empty() || self.connection.waits_for_room()
    }

    /// Whether the connection has something to receive that the ring will not report again.
    #[inline]
    pub(super) fn can_go_on(&self) -> bool {
        (self.has_ended || !self.kept.is_empty()) && !self.waits_for_room()
    }

    /// Whether its time is up. If so, the peer was told, as far as that is possible.
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

    /// Records whether the ring goes on receiving.
    #[inline]
    pub(super) fn note_receiving(&mut self, goes_on: bool) {
        if !goes_on {
            self.receiving = Receiving::No;
        }
    }

    /// Records that there is room to send, which the ring reports once.
    pub(super) fn note_room(&mut self) {
        self.awaits_room = false;
    }

    /// Has the ring do what the connection waits for: wait for room, or receive.
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

    /// Waits for room and stops receiving: we do not listen to a peer that does not read.
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

    /// Has the ring send the gathered output.
    #[inline]
    pub(super) fn queue_send(&mut self, ring: &mut ServingRing) -> io::Result<()> {
        ring.send(self.owner, self.socket())?;
        self.note_queued(ring);
        Ok(())
    }

    /// Sends as much of `unsent` as there is room for.
    pub(super) fn send_unsent(&mut self) -> io::Result<()> {
        let sent = socket::send(self.socket(), &self.unsent)?.unwrap_or(0);
        self.unsent.drain(..sent);
        Ok(())
    }

    /// Closes the connection. The ring holds the socket as long as an operation on it is under way,
    /// so operations are ended first.
    pub(super) fn close(self, ring: &mut ServingRing) -> io::Result<()> {
        if self.queued_at == Some(ring.entered()) {
            // Otherwise the operation would act on whoever gets the number of this descriptor next.
            ring.enter(false)?;
        }
        if self.receiving != Receiving::No || self.awaits_room {
            // An error means that the peer closed first.
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
