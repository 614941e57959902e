//! One worker: waits for readiness and deals it out until it is told to stop.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::SystemTime;

use slab::Slab;
use sys::epoll::{Epoll, Events, Interest};
use sys::timer::SecondTimer;

use super::accepting::Door;
use super::connection::{Connection, Fate, Shared};
use super::service::Service;

/// Room to receive into; the most that a service can be shown at once.
const INPUT_BYTES: usize = 64 * 1024;
/// Events taken from the kernel at one go.
const EVENTS: usize = 256;

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
}

/// Serves until `stop` is readable, then lets the answers under way finish.
///
/// # Errors
/// `EMFILE` when not even the worker's own descriptors can be opened; connections that fail are
/// closed and not reported.
pub fn run<S: Service>(
    listener: TcpListener,
    stop: BorrowedFd<'_>,
    service: S,
    settings: Settings,
) -> io::Result<()> {
    let mut worker = Worker::new(listener, service, settings)?;
    worker.epoll.add(stop, STOP, Interest::READ)?;
    let mut events = Events::with_capacity(EVENTS);
    while !worker.has_finished() {
        worker.epoll.wait(&mut events, None)?;
        for event in events.iter() {
            match event.token {
                LISTENER => worker.admit()?,
                TIMER => worker.begin_second()?,
                STOP => {
                    worker.epoll.remove(stop)?;
                    worker.drain()?;
                }
                token => worker.proceed(usize::try_from(token).unwrap_or(usize::MAX))?,
            }
        }
    }
    Ok(())
}

struct Worker<S: Service> {
    epoll: Epoll,
    timer: SecondTimer,
    /// `None` once the worker drains.
    door: Option<Door>,
    /// The key of a connection is its token. A token that outlives its connection within one
    /// batch of events does no harm: the next holder is offered a read that finds nothing.
    connections: Slab<Connection<S::Memory>>,
    shared: Shared<S>,
    /// The second at which draining is given up.
    drained_by: Option<u32>,
}

impl<S: Service> Worker<S> {
    fn new(listener: TcpListener, mut service: S, settings: Settings) -> io::Result<Self> {
        let epoll = Epoll::new()?;
        let timer = SecondTimer::new()?;
        epoll.add(timer.as_fd(), TIMER, Interest::READ)?;
        let door = Door::new(listener, LISTENER, &epoll)?;
        service.second_began(SystemTime::now());
        Ok(Self {
            epoll,
            timer,
            door: Some(door),
            connections: Slab::new(),
            shared: Shared {
                service,
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
            welcome(socket, epoll, connections, shared)
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

    fn proceed(&mut self, key: usize) -> io::Result<()> {
        let Some(connection) = self.connections.get_mut(key) else {
            return Ok(());
        };
        let fate = connection.proceed(&mut self.shared);
        let must_go = self.drained_by.is_some() && connection.is_idle();
        if fate == Fate::Close || must_go {
            return self.close(key);
        }
        if self.shared.settings.rearm_oneshot {
            let interest = connection.interest().once();
            return self
                .epoll
                .modify(connection.socket().as_fd(), key as u64, interest);
        }
        match connection.changed_interest() {
            Some(interest) => self
                .epoll
                .modify(connection.socket().as_fd(), key as u64, interest),
            None => Ok(()),
        }
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
        self.shared.service.second_began(SystemTime::now());
        let second = self.shared.second;
        self.connections
            .retain(|_, connection| !connection.is_overdue(second));
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
            self.proceed(key)?;
        }
        Ok(())
    }
}

/// A connection that cannot be watched is closed at once.
fn welcome<S: Service>(
    socket: TcpStream,
    epoll: &Epoll,
    connections: &mut Slab<Connection<S::Memory>>,
    shared: &Shared<S>,
) {
    let entry = connections.vacant_entry();
    let interest = if shared.settings.rearm_oneshot {
        Interest::READ.once()
    } else {
        Interest::READ
    };
    if epoll
        .add(socket.as_fd(), entry.key() as u64, interest)
        .is_ok()
    {
        entry.insert(Connection::new(socket, shared));
    }
}
