//! The carrier that is told of readiness and moves the bytes itself: epoll, `send` and `recv`.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, OwnedFd};

use sys::epoll::{Epoll, Event, Events, Interest};
use sys::socket;

use super::{Carrier, Load, News, Piece};

/// Longer answers are taken in several pieces; the rest of them is never kept.
const BUFFER_BYTES: usize = 128 * 1024;
const EVENTS_MAX: usize = 256;

/// One epoll instance and the sockets that it watches.
pub(in crate::load) struct EpollCarrier {
    request: Box<[u8]>,
    epoll: Epoll,
    events: Events,
    /// Events of the last wait that were looked at.
    looked_at: usize,
    slots: Vec<Slot>,
    buffer: Box<[u8]>,
}

#[derive(Default)]
struct Slot {
    socket: Option<OwnedFd>,
    /// Distinguishes an event of this socket from one of the socket before it.
    generation: u32,
    /// Bytes of the request that the socket has taken.
    taken: usize,
    /// Watched for room to write as well.
    wants_room: bool,
}

impl Carrier for EpollCarrier {
    fn new(load: &Load<'_>) -> io::Result<Self> {
        Ok(Self {
            request: load.request.into(),
            epoll: Epoll::new()?,
            events: Events::with_capacity(EVENTS_MAX.min(load.connections)),
            looked_at: 0,
            slots: (0..load.connections).map(|_| Slot::default()).collect(),
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
        })
    }

    fn open(&mut self, slot: usize, address: SocketAddr) -> io::Result<()> {
        let socket = socket::connect(address)?;
        let token = token(slot, self.slots[slot].generation);
        self.epoll.add(socket.as_fd(), token, Interest::WRITE)?;
        self.slots[slot].socket = Some(socket);
        Ok(())
    }

    fn finish_opening(&mut self, slot: usize) -> io::Result<()> {
        let Slot {
            socket: Some(socket),
            generation,
            ..
        } = &self.slots[slot]
        else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        socket::connect_outcome(socket.as_fd())?;
        let interest = Interest::READ.on_change();
        self.epoll
            .modify(socket.as_fd(), token(slot, *generation), interest)
    }

    fn close(&mut self, slot: usize) {
        let slot = &mut self.slots[slot];
        if let Some(socket) = slot.socket.take() {
            let _ = socket::reset_on_close(socket.as_fd());
        }
        slot.generation = slot.generation.wrapping_add(1);
        slot.wants_room = false;
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
    fn send(&mut self, slot: usize) -> io::Result<bool> {
        self.slots[slot].taken = 0;
        self.resume(slot)
    }

    #[inline]
    fn resume(&mut self, index: usize) -> io::Result<bool> {
        let slot = &mut self.slots[index];
        let Some(socket) = &slot.socket else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let rest = &self.request[slot.taken..];
        let count = socket::send(socket.as_fd(), rest)?.unwrap_or(0);
        slot.taken += count;
        let is_whole = count == rest.len();
        if slot.wants_room == is_whole {
            self.want_room(index, !is_whole)?;
        }
        Ok(is_whole)
    }

    /// A piece shorter than the buffer has emptied the socket, so a read that finds nothing is
    /// not made; only the end of a connection needs one more.
    #[inline]
    fn receive(&mut self, slot: usize) -> io::Result<Option<Piece<'_>>> {
        let Some(socket) = &self.slots[slot].socket else {
            return Ok(None);
        };
        let received = socket::receive(socket.as_fd(), &mut self.buffer)?;
        Ok(received.map(|count| Piece {
            bytes: &self.buffer[..count],
            may_go_on: count == self.buffer.len(),
        }))
    }
}

impl EpollCarrier {
    /// The slot that an event is about; `None` when that socket is closed by now.
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
            Interest::READ_WRITE.on_change()
        } else {
            Interest::READ.on_change()
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
