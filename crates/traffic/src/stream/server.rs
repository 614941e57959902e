//! The end that waits for clients, ours and iperf3's, several at once.

use std::io::{self, Write as _};
use std::net::TcpListener;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::thread;
use std::time::Duration;

use sys::address::Address;
use sys::clock;
use wire::iperf3::State;

use super::control::{Control, PATIENCE};
use super::door::{Arrival, Doors};
use super::entrance::Entrance;
use super::room::{Room, TestRoom};
use super::serving::Session;
use super::{ReceiveBy, StreamError};

/// How a server goes about it.
#[derive(Clone, Debug)]
pub struct StreamServing {
    /// How it receives from clients that do not say how.
    pub receive: ReceiveBy,
    /// No test may take longer.
    pub longest: Duration,
    /// Clients that are not ours are refused.
    pub ours_only: bool,
}

/// A test that is over, for whoever runs the server.
#[derive(Debug)]
pub struct StreamServed {
    pub client: Address,
    /// Bytes received and sent, and the time, if it came so far.
    pub came_to: Result<([u64; 2], Duration), StreamError>,
    /// Tests that ran at the same moment, this one included.
    pub at_once: u32,
}

/// It listens, and serves once it is told to.
#[derive(Debug)]
pub struct StreamServer {
    listener: TcpListener,
    pub(super) address: Address,
    pub(super) serving: StreamServing,
    pub(super) doors: Doors,
    datagrams: Mutex<()>,
    room: Room,
}

impl StreamServer {
    /// Serves those who come to a listener, by its address.
    ///
    /// # Errors
    /// None are known.
    pub fn on(listener: TcpListener, address: Address, serving: StreamServing) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self {
            address,
            listener,
            serving,
            doors: Doors::default(),
            datagrams: Mutex::new(()),
            room: Room::default(),
        })
    }

    /// Serves until it is told to stop; tells each test that is over.
    ///
    /// # Errors
    /// What hinders it from listening at all.
    pub fn serve(&self, told: &(dyn Fn(&StreamServed) + Sync)) -> io::Result<()> {
        let mut entrance = Entrance::open(&self.listener, &self.address)?;
        thread::scope(|scope| {
            while sys::stop::heard().is_none() {
                for shown in entrance.wait()? {
                    // A connection is a stream of a test that is there, or a new test.
                    if let Some(shown) = self.doors.lead(shown) {
                        self.begin(scope, shown, told);
                    }
                }
            }
            Ok(())
        })
    }

    fn begin<'scope>(
        &'scope self,
        scope: &'scope thread::Scope<'scope, '_>,
        shown: Arrival,
        told: &'scope (dyn Fn(&StreamServed) + Sync),
    ) {
        let cookie = shown.cookie;
        let Some(room) = self.room.test() else {
            self.doors.forget(&cookie);
            // One byte has room in a buffer that nothing is in.
            let _ = (&shown.stream).write(&[State::AccessDenied.byte()]);
            return;
        };
        let meet = move || self.meet(shown, room, told);
        // Where the machine has no thread for it, its line is closed.
        if thread::Builder::new().spawn_scoped(scope, meet).is_err() {
            self.doors.forget(&cookie);
        }
    }

    fn meet(&self, shown: Arrival, room: TestRoom<'_>, told: &(dyn Fn(&StreamServed) + Sync)) {
        let Arrival {
            stream,
            client,
            cookie,
            ..
        } = shown;
        let at_once = room.tests();
        let came_to = Control::new(stream)
            .map_err(|source| StreamError::Line {
                during: "the test begins",
                source,
            })
            .and_then(|control| Session::new(self, control, cookie, client.clone(), room).run());
        // Who hears that it is over may come with the same cookie again.
        self.doors.forget(&cookie);
        told(&StreamServed {
            client,
            came_to,
            at_once,
        });
    }

    /// The turn to take streams of UDP.
    pub(super) fn turn(&self) -> Result<MutexGuard<'_, ()>, StreamError> {
        let mut turn = None;
        clock::wait_until(PATIENCE / 2, || {
            turn = match self.datagrams.try_lock() {
                Ok(turn) => Some(turn),
                Err(TryLockError::Poisoned(turn)) => Some(turn.into_inner()),
                Err(TryLockError::WouldBlock) => None,
            };
            turn.is_some()
        });
        turn.ok_or(StreamError::Busy)
    }
}
