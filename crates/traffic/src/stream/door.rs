//! How streams find the test that they belong to: those of TCP by its cookie, those of UDP by
//! turns.

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

/// A connection that has sent a cookie, and its place in the order of arrival.
#[derive(Debug)]
pub(super) struct Arrival {
    pub(super) order: u64,
    pub(super) stream: TcpStream,
    pub(super) client: Address,
    pub(super) cookie: Cookie,
}

/// The tests under way, by their cookies, and the streams that they wait for.
#[derive(Debug, Default)]
pub(super) struct Doors(Mutex<HashMap<Cookie, Option<StreamDoor>>>);

/// Where the streams of a test come in, and how many more may come.
#[derive(Debug)]
struct StreamDoor {
    left: usize,
    inside: Sender<Arrival>,
}

impl Doors {
    fn open(&self) -> MutexGuard<'_, HashMap<Cookie, Option<StreamDoor>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a connection to the test whose cookie it has sent, or closes it if that test waits for
    /// none. If there is no such test, registers one and gives the connection back.
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

    pub(super) fn forget(&self, cookie: &Cookie) {
        self.open().remove(cookie);
    }

    /// Lets in `wanted` connections that send this cookie.
    pub(super) fn wait_for(&self, cookie: Cookie, wanted: usize) -> Receiver<Arrival> {
        let (inside, arrivals) = channel();
        let left = wanted;
        self.open()
            .insert(cookie, Some(StreamDoor { left, inside }));
        arrivals
    }
}

/// Waits for `wanted` connections, and returns them in the order in which they came.
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

/// The socket that receives the first datagrams of new UDP streams. One test after the other has
/// it, because nothing in the first datagram tells which test it belongs to.
#[derive(Debug)]
pub(super) struct UdpDoor {
    address: SocketAddr,
    next: UdpSocket,
    /// Deadline by which all streams of the test must be open.
    until: Instant,
    came: usize,
}

/// Most datagrams that are dropped of those that came before the socket was connected to one
/// client.
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

    /// Waits for the datagram that opens the next stream, from this client's address and no other.
    /// A client that has not heard that the stream before is open repeats its first datagram there,
    /// and opens no other until it has heard.
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
                // If this answer is lost, the client asks again.
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
        // The next socket must exist before the client hears of this one and opens another stream.
        let next = bulk::shared_udp(self.address)?;
        let taken = std::mem::replace(&mut self.next, next);
        pass_over(&taken)?;
        taken.send(&UDP_ANSWER)?;
        self.came += 1;
        Ok(taken)
    }
}

/// Drops what has come so far; returns whether a datagram that opens a stream was among it.
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
