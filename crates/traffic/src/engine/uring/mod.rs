//! The engine that waits for completions: io_uring receives, and sends the answers of a batch
//! together.
//!
//! In steady state a request costs no system call of its own: one `io_uring_enter` hands over the
//! answers of a batch and brings the bytes of the next. Everything out of the ordinary (files,
//! ends, answers in pieces, peers that do not read) goes by system calls, as in the other engine.

mod carriage;
mod door;
mod seat;

use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use slab::Slab;
use sys::timer::SecondTimer;
use sys::uring::serving::{Completion, Owner, ServingRing, Unsent, What};

use super::channel::Channel;
use super::connection::{Connection, Fate};
use super::life::{Count, Moment};
use super::service::Service;
use super::shared::{Settings, Shared};
use carriage::Carriage;
use door::Door;
use seat::Seat;

/// Completions attended to at one go. The first of them waits for its answer until the last was
/// read, which takes a microsecond or two each, so there must not be many.
const BATCH: usize = 32;

const LISTENER: Owner = Owner::new(u32::MAX, 0);
const STOP: Owner = Owner::new(u32::MAX - 1, 0);
const TIMER: Owner = Owner::new(u32::MAX - 2, 0);

/// Makes a ring as a worker needs it.
pub(super) fn carriage(settings: Settings) -> io::Result<Carriage> {
    let mut ring = ServingRing::new()?;
    if let Some(wish) = settings.busy_poll {
        ring.poll_busily(wish)?;
    }
    Ok(Carriage::new(ring))
}

/// Serves until `stop` is readable, then lets the answers under way finish.
pub(super) fn run<S: Service, C: Channel>(
    listener: TcpListener,
    stop: BorrowedFd<'_>,
    shared: Shared<S, C, Carriage>,
) -> io::Result<()> {
    let mut worker = RingWorker::new(listener, shared)?;
    worker.ring().watch(STOP, stop)?;
    worker.shared.life.tell(Moment::Ready)?;
    while !worker.shared.has_finished(worker.seats.len()) {
        let waits = worker.may_wait();
        worker.ring().enter(waits)?;
        worker.narrow_door()?;
        worker.shared.connections = worker.seats.len();
        worker.attend(BATCH)?;
        worker.send()?;
        if std::mem::take(&mut worker.second_began) {
            worker.begin_second()?;
        }
        if std::mem::take(&mut worker.is_stopped) {
            worker.drain()?;
        }
        if worker.is_catching_up && !worker.has_more() {
            worker.close_idle()?;
        }
    }
    Ok(())
}

struct RingWorker<S: Service, C: Channel> {
    timer: SecondTimer,
    /// `None` once the worker drains.
    door: Option<Door>,
    /// The key of a connection is its slot.
    seats: Slab<Seat<C, S::Memory>>,
    generation: u32,
    /// Connections for which the present batch has produced output.
    senders: Vec<usize>,
    /// Connections that have kept input, and nothing to wait for.
    unfinished: Vec<usize>,
    second_began: bool,
    is_stopped: bool,
    /// The worker drains, and has not yet taken all that had arrived when it began to drain.
    is_catching_up: bool,
    shared: Shared<S, C, Carriage>,
}

impl<S: Service, C: Channel> RingWorker<S, C> {
    fn new(listener: TcpListener, mut shared: Shared<S, C, Carriage>) -> io::Result<Self> {
        let timer = SecondTimer::new()?;
        shared.transfer.ring.watch(TIMER, timer.as_fd())?;
        shared.service.second_began(sys::clock::wall());
        let mut worker = Self {
            timer,
            door: Some(Door::new(listener, LISTENER)?),
            seats: Slab::new(),
            generation: 0,
            senders: Vec::with_capacity(BATCH),
            unfinished: Vec::new(),
            second_began: false,
            is_stopped: false,
            is_catching_up: false,
            shared,
        };
        worker.open_door()?;
        Ok(worker)
    }

    fn ring(&mut self) -> &mut ServingRing {
        &mut self.shared.transfer.ring
    }

    fn may_wait(&self) -> bool {
        let has_untaken = self.shared.transfer.ring.has_untaken();
        !self.is_catching_up && self.unfinished.is_empty() && !has_untaken
    }

    /// Whether some of what has arrived is still to be attended to.
    fn has_more(&mut self) -> bool {
        !self.unfinished.is_empty() || self.ring().has_more()
    }

    /// Attends to what has happened: at most `most` completions. Unsent messages come first, since
    /// nothing may be sent after a message before its rest is.
    fn attend(&mut self, most: usize) -> io::Result<()> {
        while let Some(unsent) = self.ring().next_unsent() {
            self.take_back(unsent)?;
        }
        for key in std::mem::take(&mut self.unfinished) {
            self.go_on(key)?;
        }
        for _ in 0..most {
            let Some(completion) = self.ring().take() else {
                break;
            };
            self.take(completion)?;
        }
        Ok(())
    }

    fn take(&mut self, completion: Completion) -> io::Result<()> {
        match completion.owner {
            LISTENER => self.admit(completion),
            STOP => {
                self.is_stopped = self.door.is_some();
                Ok(())
            }
            TIMER => {
                self.second_began = true;
                if !completion.goes_on {
                    let timer = self.timer.as_fd();
                    self.shared.transfer.ring.watch(TIMER, timer)?;
                }
                Ok(())
            }
            owner => match self.seat_of(owner) {
                Some(key) => self.take_for(key, &completion),
                None => Ok(()),
            },
        }
    }

    /// The key of an owner; `None` for a connection that is gone.
    #[inline]
    fn seat_of(&self, owner: Owner) -> Option<usize> {
        let key = usize::try_from(owner.slot).ok()?;
        (self.seats.get(key)?.owner == owner).then_some(key)
    }

    fn take_for(&mut self, key: usize, completion: &Completion) -> io::Result<()> {
        let seat = &mut self.seats[key];
        if let What::Room = completion.what {
            seat.note_room();
            return self.go_on_sending(key);
        }
        seat.note_receiving(completion.goes_on);
        match &completion.what {
            What::Received if seat.is_busy() => {
                seat.kept
                    .extend_from_slice(self.shared.transfer.ring.received());
                Ok(())
            }
            What::Received => {
                self.shared.transfer.offer_received();
                self.proceed(key)
            }
            What::ReceiveFailed(error) => {
                self.shared.note_error(error);
                self.close(key)
            }
            What::End => {
                seat.has_ended = true;
                self.go_on(key)
            }
            _ if seat.is_busy() => Ok(()),
            _ => self.conclude(key, Fate::Keep),
        }
    }

    /// Offers a connection the input that was kept for it.
    fn go_on(&mut self, key: usize) -> io::Result<()> {
        let Some(seat) = self.seats.get_mut(key).filter(|seat| seat.can_go_on()) else {
            return Ok(());
        };
        let kept = std::mem::take(&mut seat.kept);
        self.shared.transfer.offer_kept(kept, seat.has_ended);
        self.proceed(key)
    }

    fn go_on_sending(&mut self, key: usize) -> io::Result<()> {
        let seat = &mut self.seats[key];
        if seat.unsent.is_empty() {
            return self.proceed(key);
        }
        if let Err(error) = seat.send_unsent() {
            self.shared.note_error(&error);
            return self.close(key);
        }
        if seat.unsent.is_empty() {
            seat.connection.room_was_had(&self.shared);
        } else {
            seat.connection.expect_room(&self.shared);
        }
        self.conclude(key, Fate::Keep)
    }

    /// Lets a connection do what it can with the input offered.
    fn proceed(&mut self, key: usize) -> io::Result<()> {
        let seat = &mut self.seats[key];
        let fate = loop {
            let fate = seat.connection.proceed(&mut self.shared, false);
            let is_done = fate != Fate::Keep || seat.connection.waits_for_room();
            if is_done || !self.shared.transfer.has_more() {
                break fate;
            }
        };
        let rest = self.shared.transfer.withdraw();
        if !rest.is_empty() {
            seat.kept = rest;
        }
        match fate {
            Fate::Send => {
                self.senders.push(key);
                Ok(())
            }
            fate => self.conclude(key, fate),
        }
    }

    /// Sends the answers of the batch. They are sent together where the connection goes on in the
    /// same way whatever becomes of them.
    fn send(&mut self) -> io::Result<()> {
        for place in 0..self.senders.len() {
            let key = self.senders[place];
            if let Some(seat) = self.seats.get_mut(key) {
                let gathers = seat.connection.just_goes_on() && !self.shared.is_draining();
                self.shared.transfer.gather(gathers);
                let fate = seat.connection.send(&mut self.shared);
                if gathers {
                    seat.queue_send(&mut self.shared.transfer.ring)?;
                    self.shared.transfer.gather(false);
                }
                self.conclude(key, fate)?;
            }
        }
        self.senders.clear();
        Ok(())
    }

    /// Takes back the part of a connection's gathered output that was not sent.
    fn take_back(&mut self, unsent: Unsent) -> io::Result<()> {
        let Some(key) = self.seat_of(unsent.owner) else {
            return Ok(());
        };
        let rest = match unsent.rest {
            Ok(rest) => rest,
            Err(error) => {
                self.shared.note_error(&error);
                return self.close(key);
            }
        };
        let seat = &mut self.seats[key];
        seat.unsent.extend_from_slice(&rest);
        seat.connection.expect_room(&self.shared);
        self.conclude(key, Fate::Keep)
    }

    fn conclude(&mut self, key: usize, fate: Fate) -> io::Result<()> {
        let seat = &mut self.seats[key];
        // A connection that looks idle may have a request that was not taken yet.
        let may_be_idle = seat.unsent.is_empty() && !self.is_catching_up;
        let may_end = fate == Fate::Close || may_be_idle;
        if may_end && seat.connection.is_over(fate, &mut self.shared) {
            return self.close(key);
        }
        if seat.can_go_on() {
            self.unfinished.push(key);
        }
        seat.queue(&mut self.shared.transfer.ring)?;
        self.weigh(key)
    }

    fn weigh(&mut self, key: usize) -> io::Result<()> {
        let seat = &mut self.seats[key];
        let held_bytes = seat.weigh(&self.shared.service);
        let before = std::mem::replace(&mut seat.held_bytes, held_bytes);
        self.shared.weigh(before, held_bytes);
        if self.shared.is_too_heavy() {
            return self.shed();
        }
        Ok(())
    }

    /// Closes the largest connections until the rest hold no more memory than allowed.
    #[cold]
    fn shed(&mut self) -> io::Result<()> {
        while self.shared.is_too_heavy() {
            let all = self.seats.iter();
            let Some((key, _)) = all.max_by_key(|(_, seat)| seat.held_bytes) else {
                break;
            };
            self.shared.life.count(Count::Shed);
            self.close(key)?;
        }
        Ok(())
    }

    fn close(&mut self, key: usize) -> io::Result<()> {
        let seat = self.seats.remove(key);
        self.shared.weigh(seat.held_bytes, 0);
        seat.close(&mut self.shared.transfer.ring)?;
        self.open_door()
    }

    fn admit(&mut self, completion: Completion) -> io::Result<()> {
        if let Some(door) = &mut self.door {
            door.note(completion.goes_on);
        }
        match completion.what {
            What::Accepted(socket) => {
                self.welcome(socket)?;
                self.open_door()
            }
            What::Nothing => self.open_door(),
            // Most likely out of descriptors or memory: try again when a connection has closed or a
            // second has passed.
            _ => Ok(()),
        }
    }

    fn welcome(&mut self, socket: OwnedFd) -> io::Result<()> {
        self.shared.life.count(Count::Accepted);
        let Ok(connection) = Connection::new(TcpStream::from(socket), &self.shared) else {
            return Ok(());
        };
        self.generation = self.generation.wrapping_add(1);
        let entry = self.seats.vacant_entry();
        let key = entry.key();
        let slot = u32::try_from(key).map_err(io::Error::other)?;
        let owner = Owner::new(slot, self.generation);
        let rearms = self.shared.settings.rearm_oneshot;
        let seat = entry.insert(Seat::new(connection, owner, rearms));
        seat.queue(&mut self.shared.transfer.ring)?;
        // A connection that never sends anything holds memory too.
        self.weigh(key)
    }

    /// Lets connections in while there is room for them.
    fn open_door(&mut self) -> io::Result<()> {
        let room = self.room();
        match &mut self.door {
            Some(door) => door.open(room, &mut self.shared.transfer.ring),
            None => Ok(()),
        }
    }

    /// Narrows the door if more connections might come through it at once than there is room for.
    #[inline]
    fn narrow_door(&mut self) -> io::Result<()> {
        let room = self.room();
        match &mut self.door {
            Some(door) => door.narrow(room, &mut self.shared.transfer.ring),
            None => Ok(()),
        }
    }

    /// Connections for which there is still room. Accepted connections count even before they are
    /// taken.
    fn room(&self) -> usize {
        let most = self.shared.settings.max_connections;
        let held = self.seats.len() + self.shared.transfer.ring.untaken_sockets();
        most.saturating_sub(held)
    }

    fn begin_second(&mut self) -> io::Result<()> {
        self.timer.acknowledge()?;
        self.shared.begin_second()?;
        for key in 0..self.seats.capacity() {
            let seat = self.seats.get_mut(key);
            if seat.is_some_and(|seat| seat.is_overdue(&mut self.shared)) {
                self.close(key)?;
            }
        }
        self.open_door()
    }

    /// Stops accepting. Input that has arrived is answered, then idle connections are closed, and
    /// the rest is waited for: all by the steps of [`run`], which watches the time.
    fn drain(&mut self) -> io::Result<()> {
        self.shared.drain()?;
        self.is_catching_up = true;
        if let Some(door) = self.door.take() {
            let waiting = door.close(self.ring())?;
            self.attend(usize::MAX)?;
            self.send()?;
            for socket in waiting.take(self.room()) {
                self.welcome(socket)?;
            }
        }
        Ok(())
    }

    fn close_idle(&mut self) -> io::Result<()> {
        self.is_catching_up = false;
        for key in 0..self.seats.capacity() {
            if self.seats.contains(key) {
                self.conclude(key, Fate::Keep)?;
            }
        }
        Ok(())
    }
}
