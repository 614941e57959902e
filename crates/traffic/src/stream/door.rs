//! How streams find the test that they are of: those of TCP by its cookie, those of UDP by turns.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sys::address::Address;
use sys::{bulk, clock};
use wire::iperf3::{Cookie, UDP_ANSWER, UDP_HELLO, is_udp_hello};

use super::StreamError;
use super::control::PATIENCE;

/// A connection that has shown a cookie, and its place in the order in which all came.
#[derive(Debug)]
pub(super) struct Arrival {
    pub(super) order: u64,
    pub(super) stream: TcpStream,
    pub(super) client: Address,
    pub(super) cookie: Cookie,
}

/// The tests that there are, by their cookies, and the streams that they wait for.
#[derive(Debug, Default)]
pub(super) struct Doors(Mutex<HashMap<Cookie, Option<StreamDoor>>>);

/// Where the streams of a test come in, and how many still may.
#[derive(Debug)]
struct StreamDoor {
    left: usize,
    inside: Sender<Arrival>,
}

impl Doors {
    fn open(&self) -> MutexGuard<'_, HashMap<Cookie, Option<StreamDoor>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a connection to the test whose cookie it shows, or closes it where that waits for none; gives it back
    /// where there is no such test, which then there is.
    pub(super) fn lead(&self, shown: Arrival) -> Option<Arrival> {
        let mut tests = self.open();
        let Some(test) = tests.get_mut(&shown.cookie) else {
            tests.insert(shown.cookie, None);
            return Some(shown);
        };
        if let Some(door) = test.as_mut().filter(|door| door.left > 0) {
            door.left -= 1;
            let _ = door.inside.send(shown);
        }
        None
    }

    /// Forgets a test.
    pub(super) fn forget(&self, cookie: &Cookie) {
        self.open().remove(cookie);
    }

    /// Lets so many connections with a cookie in.
    pub(super) fn wait_for(&self, cookie: Cookie, wanted: usize) -> Receiver<Arrival> {
        let (inside, arrivals) = channel();
        let left = wanted;
        self.open()
            .insert(cookie, Some(StreamDoor { left, inside }));
        arrivals
    }
}

/// So many of them, in the order in which they came.
pub(super) fn take(
    arrivals: &Receiver<Arrival>,
    wanted: usize,
) -> Result<Vec<TcpStream>, StreamError> {
    let until = clock::now() + PATIENCE;
    let mut came: Vec<Arrival> = Vec::new();
    while came.len() < wanted {
        let left = until.saturating_duration_since(clock::now());
        match arrivals.recv_timeout(left) {
            Ok(arrival) => came.push(arrival),
            Err(_) => return Err(too_few(came.len(), wanted)),
        }
    }
    came.sort_unstable_by_key(|shown| shown.order);
    Ok(came.into_iter().map(|shown| shown.stream).collect())
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
    /// By then all streams of the test are there, or it has none.
    until: Instant,
    came: usize,
}

/// What came to a socket before it had one client alone is passed over up to so much.
const MOST_STRAY: usize = 1_024;

impl UdpDoor {
    pub(super) fn open(address: SocketAddr) -> io::Result<Self> {
        Ok(Self {
            address,
            next: bulk::shared_udp(address)?,
            until: clock::now() + PATIENCE,
            came: 0,
        })
    }

    /// The next stream, of a client at an address and of nobody else, by the datagram that opens one. Whoever has not
    /// heard that the one before it is open says so by that one, and opens no other until it has.
    pub(super) fn accept(
        &mut self,
        client: IpAddr,
        before: Option<&UdpSocket>,
    ) -> Result<UdpSocket, StreamError> {
        let unopened = |source| StreamError::Open { number: 0, source };
        let patience = self.next.set_read_timeout(Some(Duration::from_millis(100)));
        patience.map_err(unopened)?;
        let mut datagram = [0; UDP_HELLO.len() + 1];
        while clock::now() < self.until {
            if let Some(before) = before
                && pass_over(before).map_err(unopened)?
            {
                // One that is lost is asked for again.
                let _ = before.send(&UDP_ANSWER);
            }
            let Ok((bytes, from)) = self.next.recv_from(&mut datagram) else {
                continue;
            };
            let is_client = from.ip().to_canonical() == client.to_canonical();
            if is_client && is_udp_hello(&datagram[..bytes]) {
                return self.connect(from).map_err(unopened);
            }
        }
        Err(too_few(self.came, self.came + 1))
    }

    fn connect(&mut self, client: SocketAddr) -> io::Result<UdpSocket> {
        self.next.connect(client)?;
        // The next one must be there before the client knows, and begins another stream.
        let next = bulk::shared_udp(self.address)?;
        let taken = std::mem::replace(&mut self.next, next);
        pass_over(&taken)?;
        taken.send(&UDP_ANSWER)?;
        self.came += 1;
        Ok(taken)
    }
}

/// Passes over what has come so far; whether a datagram that opens a stream was among it.
fn pass_over(socket: &UdpSocket) -> io::Result<bool> {
    let mut has_hello = false;
    let mut datagram = [0; UDP_HELLO.len() + 1];
    socket.set_nonblocking(true)?;
    for _ in 0..MOST_STRAY {
        let Ok(bytes) = socket.recv(&mut datagram) else {
            break;
        };
        has_hello |= is_udp_hello(&datagram[..bytes]);
    }
    socket.set_nonblocking(false)?;
    Ok(has_hello)
}
