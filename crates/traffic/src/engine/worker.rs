//! One worker: waits for readiness and deals it out until it is told to stop.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd as _, BorrowedFd};

use slab::Slab;
use sys::epoll::{Epoll, Events, Interest};
use sys::listener::BusyPoll;
use sys::timer::SecondTimer;

use super::accepting::Door;
use super::channel::{Channel, Clear};
use super::connection::{Connection, Fate, Shared};
use super::service::Service;

/// Room to receive into; the most that a service can be shown at once.
const INPUT_BYTES: usize = 64 * 1024;
/// Connections attended to at one go. The first of them waits for its answer until the last was
/// read, a microsecond or two each, so it must not be many.
const EVENTS: usize = 32;

const LISTENER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;
const TIMER: u64 = u64::MAX - 2;

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
    /// queue do. It costs a system call per request and gains nothing here.
    pub rearm_oneshot: bool,
    /// Look at the device before waiting for what it has to tell; `None` to wait at once.
    pub busy_poll: Option<BusyPoll>,
}

/// Serves until `stop` is readable, then lets the answers under way finish.
///
/// # Errors
/// `EMFILE` when not even the worker's own descriptors can be opened, and those of
/// [`Epoll::poll_busily`]; connections that fail are closed and not reported.
pub fn run<S: Service>(
    listener: TcpListener,
    stop: BorrowedFd<'_>,
    service: S,
    settings: Settings,
) -> io::Result<()> {
    run_over::<S, Clear>(listener, stop, service, (), settings)
}

/// As [`run`], over connections of another kind; `common` is what they share.
///
/// # Errors
/// As of [`run`].
pub fn run_over<S: Service, C: Channel>(
    listener: TcpListener,
    stop: BorrowedFd<'_>,
    service: S,
    common: C::Common,
    settings: Settings,
) -> io::Result<()> {
    let mut worker = Worker::<S, C>::new(listener, service, common, settings)?;
    worker.epoll.add(stop, STOP, Interest::READ)?;
    let mut events = Events::with_capacity(EVENTS);
    while !worker.has_finished() {
        worker.epoll.wait(&mut events, None)?;
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
    /// The key of a connection is its token. A token that outlives its connection within one
    /// batch of events does no harm: the next holder is offered a read that finds nothing.
    connections: Slab<Connection<C, S::Memory>>,
    /// Connections that the present batch has given something to send.
    senders: Vec<usize>,
    shared: Shared<S, C>,
    /// The second at which draining is given up.
    drained_by: Option<u32>,
}

impl<S: Service, C: Channel> Worker<S, C> {
    fn new(
        listener: TcpListener,
        mut service: S,
        common: C::Common,
        settings: Settings,
    ) -> io::Result<Self> {
        let epoll = Epoll::new()?;
        if let Some(wish) = settings.busy_poll {
            epoll.poll_busily(wish)?;
        }
        let timer = SecondTimer::new()?;
        epoll.add(timer.as_fd(), TIMER, Interest::READ)?;
        let door = Door::new(listener, LISTENER, &epoll)?;
        service.second_began(sys::clock::wall());
        Ok(Self {
            epoll,
            timer,
            door: Some(door),
            connections: Slab::new(),
            senders: Vec::with_capacity(EVENTS),
            shared: Shared {
                service,
                common,
                settings,
                input: vec![0; INPUT_BYTES],
                second: 0,
            },
            drained_by: None,
        })
    }

    fn has_finished(&self) -> bool {
        self.drained_by
            .is_some_and(|second| self.connections.is_empty() || self.shared.second >= second)
    }

    fn admit(&mut self) -> io::Result<()> {
        let Some(door) = &mut self.door else {
            return Ok(());
        };
        let (epoll, connections, shared) = (&self.epoll, &mut self.connections, &self.shared);
        let room = shared
            .settings
            .max_connections
            .saturating_sub(connections.len());
        door.admit(epoll, room, |socket| {
            welcome(socket, epoll, connections, shared);
        })
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
        let Some(connection) = self.connections.get_mut(key) else {
            return Ok(());
        };
        match connection.proceed(&mut self.shared, hung_up) {
            Fate::Send => {
                self.senders.push(key);
                Ok(())
            }
            fate => self.conclude(key, fate),
        }
    }

    /// Sends what the batch has brought forth. To receive from all and then to send to all keeps
    /// each of the kernel's two paths in the CPU's cache, and the peers answer in batches too.
    fn send(&mut self) -> io::Result<()> {
        for place in 0..self.senders.len() {
            let key = self.senders[place];
            if let Some(connection) = self.connections.get_mut(key) {
                let fate = connection.send(&mut self.shared);
                self.conclude(key, fate)?;
            }
        }
        self.senders.clear();
        Ok(())
    }

    fn conclude(&mut self, key: usize, fate: Fate) -> io::Result<()> {
        let connection = &mut self.connections[key];
        let must_go = self.drained_by.is_some() && connection.is_idle();
        if fate == Fate::Close {
            return self.close(key);
        }
        if must_go {
            connection.take_leave(&mut self.shared);
            return self.close(key);
        }
        let interest = if self.shared.settings.rearm_oneshot {
            Some(connection.interest().once())
        } else {
            connection.interest_to_set()
        };
        let socket = connection.socket().as_fd();
        interest.map_or(Ok(()), |interest| {
            self.epoll.modify(socket, key as u64, interest)
        })
    }

    fn close(&mut self, key: usize) -> io::Result<()> {
        self.connections.remove(key);
        self.reopen()
    }

    fn reopen(&mut self) -> io::Result<()> {
        self.door
            .as_mut()
            .map_or(Ok(()), |door| door.reopen(&self.epoll))
    }

    fn begin_second(&mut self) -> io::Result<()> {
        self.timer.acknowledge()?;
        self.shared.second = self.shared.second.saturating_add(1);
        self.shared.service.second_began(sys::clock::wall());
        let shared = &mut self.shared;
        self.connections.retain(|_, connection| {
            let stays = !connection.is_overdue(shared.second);
            if !stays {
                connection.take_leave(shared);
            }
            stays
        });
        self.reopen()
    }

    /// Stops accepting, answers what has arrived, closes what is idle, waits for the rest.
    fn drain(&mut self) -> io::Result<()> {
        self.admit_all()?;
        self.door = None;
        self.shared.service.drain();
        let timeout_s = self.shared.settings.drain_timeout_s;
        self.drained_by = Some(
            self.shared
                .second
                .saturating_add(timeout_s)
                .saturating_add(1),
        );
        for key in 0..self.connections.capacity() {
            self.proceed(key, false)?;
        }
        Ok(())
    }
}

/// A connection that cannot be watched is closed at once.
fn welcome<S: Service, C: Channel>(
    socket: TcpStream,
    epoll: &Epoll,
    connections: &mut Slab<Connection<C, S::Memory>>,
    shared: &Shared<S, C>,
) {
    let Ok(connection) = Connection::new(socket, shared) else {
        return;
    };
    let entry = connections.vacant_entry();
    let interest = if shared.settings.rearm_oneshot {
        connection.interest().once()
    } else {
        connection.interest()
    };
    let socket = connection.socket().as_fd();
    if epoll.add(socket, entry.key() as u64, interest).is_ok() {
        entry.insert(connection);
    }
}
