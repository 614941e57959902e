//! The server: the end that waits for clients, ours and iperf3's, several at once.

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

/// What a server allows, and how it receives.
#[derive(Clone, Debug)]
pub struct StreamServing {
    /// How it receives from clients that do not say how.
    pub receive: ReceiveBy,
    /// Longest time that a test may take.
    pub longest: Duration,
    /// Clients that are not ours are refused.
    pub ours_only: bool,
}

/// A test that is over, as it is reported to the caller of [`StreamServer::serve`].
#[derive(Debug)]
pub struct StreamServed {
    pub client: Address,
    /// Bytes received and sent, and the time of the test; or why it failed.
    pub came_to: Result<([u64; 2], Duration), StreamError>,
    /// Tests under way when this one began, this one included.
    pub at_once: u32,
}

/// A server that listens; [`Self::serve`] serves its clients.
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
    /// Makes a server of a listener and its address.
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

    /// Serves until the process is told to stop; calls `on_served` with each test that is over.
    ///
    /// # Errors
    /// Whatever keeps it from listening at all.
    pub fn serve(&self, on_served: &(dyn Fn(&StreamServed) + Sync)) -> io::Result<()> {
        let mut entrance = Entrance::open(&self.listener, &self.address)?;
        thread::scope(|scope| {
            while sys::stop::heard().is_none() {
                for shown in entrance.wait()? {
                    // A connection is a stream of a known test, or begins a new test.
                    if let Some(shown) = self.doors.lead(shown) {
                        self.begin(scope, shown, on_served);
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
        on_served: &'scope (dyn Fn(&StreamServed) + Sync),
    ) {
        let cookie = shown.cookie;
        let Some(room) = self.room.test() else {
            self.doors.forget(&cookie);
            // The send buffer is empty, so one byte fits.
            let _ = (&shown.stream).write(&[State::AccessDenied.byte()]);
            return;
        };
        let meet = move || self.meet(shown, room, on_served);
        // If the machine has no thread for the test, its control line is closed.
        if thread::Builder::new().spawn_scoped(scope, meet).is_err() {
            self.doors.forget(&cookie);
        }
    }

    fn meet(&self, shown: Arrival, room: TestRoom<'_>, on_served: &(dyn Fn(&StreamServed) + Sync)) {
        let Arrival {
            stream,
            client,
            cookie,
            ..
        } = shown;
        let at_once = room.tests();
        let came_to = Control::new(stream)
            .map_err(|source| StreamError::Line {
                during: "the test began",
                source,
            })
            .and_then(|control| Session::new(self, control, cookie, client.clone(), room).run());
        // A client that hears of the end may come again with the same cookie.
        self.doors.forget(&cookie);
        on_served(&StreamServed {
            client,
            came_to,
            at_once,
        });
    }

    /// Waits for the turn to accept UDP streams.
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
