//! The carrier that waits for readiness and moves the bytes itself: epoll, `send` and `recv`.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use sys::address::Address;
use sys::epoll::{Epoll, Event, Events, Interest};
use sys::socket;

use super::layer::{Layer, Opening};
use super::{Carrier, Load, News, ReceivedPiece};
use crate::load::outcome::Handshakes;

const EVENTS_MAX: usize = 256;

/// One epoll instance and the sockets that it watches.
pub(in crate::load) struct EpollCarrier<L: Layer> {
    address: Address,
    epoll: Epoll,
    events: Events,
    /// How many events of the last wait were looked at.
    looked_at: usize,
    slots: Vec<Slot<L>>,
    common: L::Common,
}

#[derive(Default)]
struct Slot<L> {
    socket: Option<OwnedFd>,
    layer: L,
    /// Distinguishes an event of this socket from one of an earlier socket in the slot.
    generation: u32,
    is_connected: bool,
    /// The socket is also watched for room to write.
    wants_room: bool,
}

impl<L: Layer> Carrier for EpollCarrier<L> {
    type Request = [u8];
    type Input = [u8];

    const PATIENCE_NS: u64 = L::PATIENCE_NS;

    fn new(load: &Load<'_>) -> io::Result<Self> {
        Ok(Self {
            address: load.address.clone(),
            epoll: Epoll::new()?,
            events: Events::with_capacity(EVENTS_MAX.min(load.connections)),
            looked_at: 0,
            slots: (0..load.connections).map(|_| Slot::default()).collect(),
            common: L::common(load.tls)?,
        })
    }

    fn open(&mut self, slot: usize) -> io::Result<()> {
        let socket = self.address.connect()?;
        let token = token(slot, self.slots[slot].generation);
        self.epoll.add(socket.as_fd(), token, Interest::WRITE)?;
        self.slots[slot].socket = Some(socket);
        Ok(())
    }

    fn finish_opening(&mut self, index: usize) -> io::Result<bool> {
        let slot = &mut self.slots[index];
        let Some(socket) = &slot.socket else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let is_new = !std::mem::replace(&mut slot.is_connected, true);
        if is_new {
            socket::connect_outcome(socket.as_fd())?;
        }
        let opening = slot.layer.open(&mut self.common, socket.as_fd())?;
        let wants_room = opening == Opening::NeedsRoom;
        if is_new || slot.wants_room != wants_room {
            self.want_room(index, wants_room)?;
        }
        Ok(opening == Opening::Done)
    }

    fn close(&mut self, slot: usize) {
        let slot = &mut self.slots[slot];
        if let Some(socket) = slot.socket.take() {
            let _ = socket::reset_on_close(socket.as_fd());
        }
        *slot = Slot {
            generation: slot.generation.wrapping_add(1),
            ..Slot::default()
        };
    }

    #[inline]
    fn wait(&mut self, timeout_ns: u64) -> io::Result<bool> {
        self.looked_at = 0;
        self.epoll.wait(&mut self.events, Some(timeout_ns))?;
        Ok(self.events.at(0).is_some())
    }

    #[inline]
    fn next(&mut self) -> Option<(usize, News)> {
        loop {
            let event = self.events.at(self.looked_at)?;
            self.looked_at += 1;
            if let Some(slot) = self.slot_of(&event) {
                return Some((slot, news(&event)));
            }
        }
    }

    #[inline]
    fn send(&mut self, slot: usize, request: &[u8]) -> io::Result<bool> {
        self.push(slot, request, true)
    }

    #[inline]
    fn resume(&mut self, slot: usize, request: &[u8]) -> io::Result<bool> {
        self.push(slot, request, false)
    }

    #[inline]
    fn receive(&mut self, slot: usize) -> io::Result<Option<ReceivedPiece<'_>>> {
        let slot = &mut self.slots[slot];
        match &slot.socket {
            Some(socket) => slot.layer.receive(&mut self.common, socket.as_fd()),
            None => Ok(None),
        }
    }

    /// Sets the watch again, after which there is news at once (`EPOLL_CTL_MOD`, epoll(7) on
    /// edges).
    fn look_again(&mut self, slot: usize) -> bool {
        let wants_room = self.slots[slot].wants_room;
        self.want_room(slot, wants_room).is_ok()
    }

    fn absorb(&mut self, slot: usize) -> bool {
        let slot = &mut self.slots[slot];
        let socket = slot.socket.as_ref();
        socket.is_some_and(|socket| slot.layer.absorb(&mut self.common, socket.as_fd()))
    }

    fn handshakes(&self) -> Option<&Handshakes> {
        L::handshakes(&self.common)
    }
}

impl<L: Layer> EpollCarrier<L> {
    /// Sends the request, or the rest of it, and asks to be woken when there is room for more.
    #[inline]
    fn push(&mut self, index: usize, request: &[u8], is_new: bool) -> io::Result<bool> {
        let slot = &mut self.slots[index];
        let Some(socket) = &slot.socket else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let is_whole = slot
            .layer
            .send(&mut self.common, socket.as_fd(), request, is_new)?;
        if slot.wants_room == is_whole {
            self.want_room(index, !is_whole)?;
        }
        Ok(is_whole)
    }

    /// The slot of an event; `None` when its socket has been closed.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the token holds two numbers of 32 bits each"
    )]
    fn slot_of(&self, event: &Event) -> Option<usize> {
        let slot = (event.token & u64::from(u32::MAX)) as usize;
        let generation = (event.token >> 32) as u32;
        (self.slots.get(slot)?.generation == generation).then_some(slot)
    }

    /// Sets whether to be woken when there is room to write.
    #[cold]
    fn want_room(&mut self, index: usize, wanted: bool) -> io::Result<()> {
        let slot = &mut self.slots[index];
        slot.wants_room = wanted;
        let interest = if wanted {
            Interest::READ_WRITE.edge()
        } else {
            Interest::READ.edge()
        };
        match &slot.socket {
            Some(socket) => {
                self.epoll
                    .modify(socket.as_fd(), token(index, slot.generation), interest)
            }
            None => Ok(()),
        }
    }
}

#[inline]
fn news(event: &Event) -> News {
    if event.readable || event.hung_up {
        News::Input {
            is_last: event.hung_up,
        }
    } else {
        News::Room
    }
}

fn token(slot: usize, generation: u32) -> u64 {
    u64::from(generation) << 32 | slot as u64
}
