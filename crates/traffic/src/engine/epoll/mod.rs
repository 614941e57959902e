//! The engine that waits for readiness, and receives and sends by one system call each.
//!
//! In steady state a request costs one `recv` and one `send`, and a share of an `epoll_pwait2`:
//! connections are registered once and edge-triggered, and a read that is expected to find nothing
//! is never made. All input that one wait reports is read first; then the answers are sent,
//! connection by connection.

mod door;

use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd as _, BorrowedFd};

use slab::Slab;
use sys::epoll::{Epoll, Events, Interest};
use sys::timer::SecondTimer;

use super::channel::Channel;
use super::connection::{Connection, Fate};
use super::life::{Count, Moment};
use super::service::Service;
use super::shared::Shared;
use super::transfer::Calls;
use door::Door;

/// Connections attended to at one go. The first of them waits for its answer until the last was
/// read, which takes a microsecond or two each, so there must not be many.
const EVENTS: usize = 32;

const LISTENER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;
const TIMER: u64 = u64::MAX - 2;

/// Edge-triggered, so only new events are reported. Otherwise the kernel would look again at every
/// connection that was just served, which costs more than a hundredth of a request.
const READ: Interest = Interest::READ.edge();

/// Serves until `stop` is readable, then lets the answers under way finish.
pub(super) fn run<S: Service, C: Channel>(
    listener: TcpListener,
    stop: BorrowedFd<'_>,
    shared: Shared<S, C, Calls>,
) -> io::Result<()> {
    let mut worker = Worker::new(listener, shared)?;
    worker.epoll.add(stop, STOP, Interest::READ)?;
    worker.shared.life.tell(Moment::Ready)?;
    let mut events = Events::with_capacity(EVENTS);
    while !worker.shared.has_finished(worker.connections.len()) {
        worker.epoll.wait(&mut events, None)?;
        worker.shared.connections = worker.connections.len();
        let mut second_began = false;
        for event in events.iter() {
            match event.token {
                LISTENER => worker.admit()?,
                TIMER => second_began = true,
                STOP => {
                    worker.epoll.remove(stop)?;
                    worker.drain()?;
                }
                token => {
                    let key = usize::try_from(token).unwrap_or(usize::MAX);
                    worker.proceed(key, event.hung_up)?;
                }
            }
        }
        worker.send()?;
        if second_began {
            worker.begin_second()?;
        }
    }
    Ok(())
}

struct Worker<S: Service, C: Channel> {
    epoll: Epoll,
    timer: SecondTimer,
    /// `None` once the worker drains.
    door: Option<Door>,
    /// The key of a connection is its token. A token that outlives its connection within one batch
    /// of events does no harm: the next holder is offered a read that finds nothing.
    connections: Slab<Watched<C, S::Memory>>,
    /// Connections for which the present batch has produced output.
    senders: Vec<usize>,
    shared: Shared<S, C, Calls>,
}

/// A connection and the interest it is watched with.
struct Watched<C, M> {
    connection: Connection<C, M>,
    interest: Interest,
    /// Memory that it held when it was last weighed, bytes.
    held_bytes: usize,
}

impl<S: Service, C: Channel> Worker<S, C> {
    fn new(listener: TcpListener, mut shared: Shared<S, C, Calls>) -> io::Result<Self> {
        let epoll = Epoll::new()?;
        if let Some(wish) = shared.settings.busy_poll {
            epoll.poll_busily(wish)?;
        }
        let timer = SecondTimer::new()?;
        epoll.add(timer.as_fd(), TIMER, Interest::READ)?;
        let door = Door::new(listener, LISTENER, &epoll)?;
        shared.service.second_began(sys::clock::wall());
        Ok(Self {
            epoll,
            timer,
            door: Some(door),
            connections: Slab::new(),
            senders: Vec::with_capacity(EVENTS),
            shared,
        })
    }

    fn admit(&mut self) -> io::Result<()> {
        let Some(door) = &mut self.door else {
            return Ok(());
        };
        let (epoll, connections, shared) = (&self.epoll, &mut self.connections, &mut self.shared);
        let most = shared.settings.max_connections;
        let room = most.saturating_sub(connections.len());
        let rearm_oneshot = shared.settings.rearm_oneshot;
        door.admit(epoll, room, |socket| {
            shared.life.count(Count::Accepted);
            if let Ok(connection) = Connection::new(socket, shared) {
                let held_bytes = connection.held_bytes(&shared.service);
                if watch(epoll, connections, (connection, held_bytes), rearm_oneshot) {
                    shared.weigh(0, held_bytes);
                }
            }
        })?;
        // Connections that never send anything hold memory too.
        match self.shared.is_too_heavy() {
            true => self.shed(),
            false => Ok(()),
        }
    }

    fn admit_all(&mut self) -> io::Result<()> {
        loop {
            let before = self.connections.len();
            self.admit()?;
            if self.connections.len() == before {
                return Ok(());
            }
        }
    }

    fn proceed(&mut self, key: usize, hung_up: bool) -> io::Result<()> {
        let Some(watched) = self.connections.get_mut(key) else {
            return Ok(());
        };
        match watched.connection.proceed(&mut self.shared, hung_up) {
            Fate::Send => {
                self.senders.push(key);
                Ok(())
            }
            fate => self.conclude(key, fate),
        }
    }

    /// Sends the answers of the batch. First receiving from all and then sending to all keeps each
    /// of the kernel's two code paths in the CPU's cache, and the peers answer in batches too.
    fn send(&mut self) -> io::Result<()> {
        for place in 0..self.senders.len() {
            let key = self.senders[place];
            if let Some(watched) = self.connections.get_mut(key) {
                let fate = watched.connection.send(&mut self.shared);
                self.conclude(key, fate)?;
            }
        }
        self.senders.clear();
        Ok(())
    }

    fn conclude(&mut self, key: usize, fate: Fate) -> io::Result<()> {
        let watched = &mut self.connections[key];
        if watched.connection.is_over(fate, &mut self.shared) {
            self.forget(key);
            return self.reopen();
        }
        if let Some(interest) = watched.interest_to_set(self.shared.settings.rearm_oneshot) {
            let socket = watched.connection.socket().as_fd();
            self.epoll.modify(socket, key as u64, interest)?;
        }
        let held_bytes = watched.connection.held_bytes(&self.shared.service);
        let before = std::mem::replace(&mut watched.held_bytes, held_bytes);
        self.shared.weigh(before, held_bytes);
        if self.shared.is_too_heavy() {
            return self.shed();
        }
        Ok(())
    }

    fn forget(&mut self, key: usize) {
        let watched = self.connections.remove(key);
        self.shared.weigh(watched.held_bytes, 0);
    }

    /// Closes the largest connections until the rest hold no more memory than allowed.
    #[cold]
    fn shed(&mut self) -> io::Result<()> {
        while self.shared.is_too_heavy() {
            let all = self.connections.iter();
            let Some((key, _)) = all.max_by_key(|(_, watched)| watched.held_bytes) else {
                break;
            };
            self.shared.life.count(Count::Shed);
            self.forget(key);
        }
        self.reopen()
    }

    fn reopen(&mut self) -> io::Result<()> {
        self.door
            .as_mut()
            .map_or(Ok(()), |door| door.reopen(&self.epoll))
    }

    fn begin_second(&mut self) -> io::Result<()> {
        self.timer.acknowledge()?;
        self.shared.begin_second()?;
        let shared = &mut self.shared;
        self.connections.retain(|_, watched| {
            let is_overdue = watched.connection.is_overdue(shared);
            if is_overdue {
                shared.weigh(watched.held_bytes, 0);
            }
            !is_overdue
        });
        self.reopen()
    }

    /// Stops accepting, answers what has arrived, closes idle connections, and waits for the rest.
    fn drain(&mut self) -> io::Result<()> {
        self.admit_all()?;
        self.door = None;
        self.shared.drain()?;
        for key in 0..self.connections.capacity() {
            self.proceed(key, false)?;
        }
        Ok(())
    }
}

impl<C: Channel, M: Default> Watched<C, M> {
    /// The interest to set, when it differs from the present one or when the kernel must look
    /// again.
    fn interest_to_set(&mut self, rearm_oneshot: bool) -> Option<Interest> {
        let wanted = match self.connection.waits_for_room() {
            true => Interest::WRITE,
            false => READ,
        };
        if rearm_oneshot {
            return Some(wanted.once());
        }
        let ask_again = self.connection.take_unread() && wanted == READ;
        (ask_again || wanted != self.interest).then(|| {
            self.interest = wanted;
            wanted
        })
    }
}

/// Watches a new connection. Returns whether that succeeded; if not, the connection is closed at
/// once.
fn watch<C: Channel, M: Default>(
    epoll: &Epoll,
    connections: &mut Slab<Watched<C, M>>,
    (connection, held_bytes): (Connection<C, M>, usize),
    rearm_oneshot: bool,
) -> bool {
    let entry = connections.vacant_entry();
    let interest = if rearm_oneshot { READ.once() } else { READ };
    let socket = connection.socket().as_fd();
    let is_watched = epoll.add(socket, entry.key() as u64, interest).is_ok();
    if is_watched {
        entry.insert(Watched {
            connection,
            interest: READ,
            held_bytes,
        });
    }
    is_watched
}
