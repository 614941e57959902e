//! How streams find the test that they are of: those of TCP by its cookie, those of UDP by turns.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sys::{bulk, clock};
use wire::iperf3::{Cookie, MOST_STREAMS, UDP_ANSWER};

use super::StreamError;
use super::control::PATIENCE;

/// A connection with the cookie of a test, and its place in the order in which all came.
pub(super) type Arrival = (u64, TcpStream);

/// Tests that wait for their streams.
#[derive(Debug, Default)]
pub(super) struct Doors(Mutex<HashMap<Cookie, SyncSender<Arrival>>>);

impl Doors {
    fn open(&self) -> MutexGuard<'_, HashMap<Cookie, SyncSender<Arrival>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a connection to the test whose cookie it shows; gives it back where there is none.
    pub(super) fn lead(&self, cookie: &Cookie, arrival: Arrival) -> Option<Arrival> {
        match self.open().get(cookie) {
            // One too many is closed.
            Some(test) => {
                let _ = test.try_send(arrival);
                None
            }
            None => Some(arrival),
        }
    }

    /// Lets connections with a cookie in, until what is returned is dropped.
    pub(super) fn wait_for(&self, cookie: Cookie) -> StreamDoor<'_> {
        let (inside, arrivals) = sync_channel(2 * MOST_STREAMS as usize);
        self.open().insert(cookie, inside);
        StreamDoor {
            doors: self,
            cookie,
            arrivals,
        }
    }
}

/// Where the streams of a test come in.
#[derive(Debug)]
pub(super) struct StreamDoor<'a> {
    doors: &'a Doors,
    cookie: Cookie,
    arrivals: Receiver<Arrival>,
}

impl StreamDoor<'_> {
    /// So many of them, in the order in which they came.
    pub(super) fn take(&self, wanted: usize) -> Result<Vec<TcpStream>, StreamError> {
        let until = clock::now() + PATIENCE;
        let mut came: Vec<Arrival> = Vec::new();
        while came.len() < wanted {
            let left = until.saturating_duration_since(clock::now());
            match self.arrivals.recv_timeout(left) {
                Ok(arrival) => came.push(arrival),
                Err(_) => return Err(too_few(came.len(), wanted)),
            }
        }
        came.sort_by_key(|(order, _)| *order);
        Ok(came.into_iter().map(|(_, stream)| stream).collect())
    }
}

impl Drop for StreamDoor<'_> {
    fn drop(&mut self) {
        self.doors.open().remove(&self.cookie);
    }
}

fn too_few(came: usize, wanted: usize) -> StreamError {
    let seconds = PATIENCE.as_secs();
    StreamError::TooFew {
        came,
        wanted,
        seconds,
    }
}

/// Where datagrams of streams that are not there yet come in: one test after the other has it, as nothing
/// in the first datagram tells of which test it is.
#[derive(Debug)]
pub(super) struct UdpDoor {
    address: SocketAddr,
    next: UdpSocket,
}

impl UdpDoor {
    pub(super) fn open(address: SocketAddr) -> io::Result<Self> {
        let next = bulk::shared_udp(address)?;
        Ok(Self { address, next })
    }

    /// The next stream, of a client at an address and of nobody else.
    pub(super) fn accept(&mut self, client: IpAddr) -> Result<UdpSocket, StreamError> {
        let until = clock::now() + PATIENCE;
        let unopened = |source| StreamError::Open { number: 0, source };
        let patience = self.next.set_read_timeout(Some(Duration::from_millis(200)));
        patience.map_err(unopened)?;
        while clock::now() < until {
            let Ok((_, from)) = self.next.recv_from(&mut [0; 4]) else {
                continue;
            };
            if from.ip().to_canonical() == client.to_canonical() {
                return self.connect(from).map_err(unopened);
            }
        }
        Err(too_few(0, 1))
    }

    fn connect(&mut self, client: SocketAddr) -> io::Result<UdpSocket> {
        self.next.connect(client)?;
        // The next one must be there before the client knows, and begins another stream.
        let next = bulk::shared_udp(self.address)?;
        let taken = std::mem::replace(&mut self.next, next);
        taken.send(&UDP_ANSWER)?;
        Ok(taken)
    }
}
