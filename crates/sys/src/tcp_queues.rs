//! What waits in the queues of single TCP sockets, asked of the kernel socket by socket. That takes
//! a few µs each, whereas a list of all sockets takes time in proportion to the kernel's hash
//! buckets. No privilege is needed.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::ControlFlow;

use crate::netlink::Netlink;
use crate::socket;
use crate::tcp_diag::{
    self, ACKED_AT, ANSWER_BYTES, RECEIVED_AT, address, bytes, each, info, memory, number,
};

/// `TCP_ESTABLISHED` and `TCP_CLOSE_WAIT` of net/tcp_states.h: states in which the program may
/// still send.
const OPEN: u32 = 1 << 1 | 1 << 8;
/// `TCP_FIN_WAIT1` and `TCP_FIN_WAIT2`: states of an end that closed before the other.
const CLOSING: u32 = 1 << 4 | 1 << 5;
/// `TCP_SYN_SENT`: the state of an end that is connecting.
const OPENING: u32 = 1 << 2;
/// Where `struct inet_diag_msg` has the inode.
const INODE_AT: usize = 68;
/// Where `struct tcp_info` has the times since data were last sent and received, ms (linux/tcp.h).
const SENT_AT: usize = 44;
const CAME_AT: usize = 52;
/// Where it has the number of segments in flight, and the number of bytes not sent yet.
const ON_THE_WAY_AT: usize = 24;
const UNSENT_AT: usize = 144;
/// Where it has the shortest round trip seen, µs.
const ROUND_TRIP_AT: usize = 148;
/// Two events within this time may be reported with the same age, because the kernel's clock counts
/// in ticks, ms.
const ONE_TICK: u32 = 10;
/// Where `struct inet_diag_msg` has the lengths of the two queues.
const UNREAD_AT: usize = 56;
const UNACKED_AT: usize = 60;
/// Half of the size that `net.ipv4.tcp_rmem` gives a new receive buffer.
const SMALL_BYTES: u32 = 64 * 1024;
/// Where `INET_DIAG_SKMEMINFO` has the sizes of the buffers, and how much of the send buffer is in
/// use (`SK_MEMINFO_RCVBUF`, `SK_MEMINFO_SNDBUF` and `SK_MEMINFO_WMEM_QUEUED` of
/// linux/sock_diag.h).
const RECEIVE_BUFFER_AT: usize = 4;
const SEND_BUFFER_AT: usize = 3 * 4;
const QUEUED_AT: usize = 5 * 4;
/// `INET_DIAG_NOCOOKIE`, twice: matches a socket with any cookie.
const ANY_COOKIE: [u8; 8] = [0xff; 8];

/// Both addresses of a connection; at any time only one connection has this pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ends {
    /// Address of the socket that is asked about.
    pub local: SocketAddr,
    /// Address of the other end.
    pub remote: SocketAddr,
}

impl Ends {
    /// The ends of a socket that listens at this address.
    pub const fn of_listener(local: SocketAddr) -> Self {
        let nobody = match local {
            SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        Self {
            local,
            remote: SocketAddr::new(nobody, 0),
        }
    }

    /// The ends as the other side sees them.
    #[must_use]
    pub const fn turned(self) -> Self {
        Self {
            local: self.remote,
            remote: self.local,
        }
    }
}

/// What waits in a socket, in either direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queues {
    /// Bytes received that the program has not read. Of a listener: connections that wait to be
    /// accepted.
    pub unread: u32,
    /// Bytes that the program has written and the other end has not acknowledged. Of a listener:
    /// how many connections may wait.
    pub unacked: u32,
    /// Bytes that the program has written since the connection was opened; 0 for a listener.
    pub written: u64,
    /// Bytes received since the connection was opened; 0 for a listener.
    pub came: u64,
    /// Some written data are not sent, although nothing is in flight.
    pub held_back: bool,
    /// Some of the unacknowledged data may not have arrived yet. Otherwise all that was sent has
    /// arrived, and only its acknowledgement is delayed.
    pub under_way: bool,
    /// The send buffer has no room until more is acknowledged.
    pub full: bool,
    /// The receive buffer is smaller than the initial size of any buffer that grows by itself.
    pub small: bool,
    /// The program closed the connection before the other end did.
    pub closing: bool,
}

/// One end of a connection and its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenEnd {
    /// Both addresses.
    pub ends: Ends,
    /// The inode of the socket, by which it appears among the open files of its processes.
    pub inode: u64,
    /// It has sent data after it last received any, or is connecting.
    pub awaits: bool,
}

/// The netlink socket through which queues are asked for.
#[derive(Debug)]
pub struct QueueLook(Netlink);

impl QueueLook {
    /// Opens the netlink socket in the network namespace of the caller.
    ///
    /// # Errors
    /// `EPROTONOSUPPORT` of kernels without `CONFIG_INET_DIAG`.
    pub fn open() -> io::Result<Self> {
        tcp_diag::open().map(Self)
    }

    /// The queues of the socket with these ends, or of the listener there; `None` where it is gone.
    ///
    /// # Errors
    /// Any error of the kernel except that there is no such socket.
    pub fn of(&self, ends: &Ends) -> io::Result<Option<Queues>> {
        let mut found = None;
        let asked = self.0.ask(&request_for_one(ends), 1, |message| {
            // For a connection that is gone the kernel may answer with its listener.
            let is_it = address(message.payload, 6, 24) == Some(ends.remote);
            found = queues(message.payload).filter(|_| is_it);
            ControlFlow::Break(())
        });
        match asked {
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
            asked => asked.map(|()| found),
        }
    }

    /// All ends of connections that are open or being opened.
    ///
    /// # Errors
    /// `ENOENT` of kernels without `CONFIG_INET_DIAG`.
    pub fn all(&self) -> io::Result<Vec<OpenEnd>> {
        each(&self.0, OPEN | OPENING, 0, standing)
    }

    /// The open connections whose own end has this port; with `with_closing` also those that this
    /// end has closed.
    ///
    /// # Errors
    /// `ENOENT` of kernels without `CONFIG_INET_DIAG`.
    pub fn connections(&self, port: u16, with_closing: bool) -> io::Result<Vec<Ends>> {
        let states = if with_closing { OPEN | CLOSING } else { OPEN };
        each(&self.0, states, port, ends)
    }
}

/// Reads both addresses of an answer.
fn ends(answer: &[u8]) -> Option<Ends> {
    Some(Ends {
        local: address(answer, 4, 8)?,
        remote: address(answer, 6, 24)?,
    })
}

fn standing(answer: &[u8]) -> Option<OpenEnd> {
    let is_opening = answer.get(1)? == &OPENING.trailing_zeros().to_ne_bytes()[0];
    Some(OpenEnd {
        ends: ends(answer)?,
        inode: u32::from_ne_bytes(bytes(answer, INODE_AT)?).into(),
        awaits: is_opening || info(answer).and_then(awaits)?,
    })
}

/// Whether data were sent later than any came. The order of data sent and received within one tick
/// is unknown; such an end counts as waiting, since an exchange that fast goes on.
fn awaits(info: &[u8]) -> Option<bool> {
    let ago = |at| Some(u32::from_ne_bytes(bytes(info, at)?));
    let (sent, came) = (ago(SENT_AT)?, ago(CAME_AT)?);
    Some(sent < came || sent == came && sent < ONE_TICK)
}

fn queues(answer: &[u8]) -> Option<Queues> {
    let head = answer.get(..ANSWER_BYTES)?;
    let unacked = u32::from_ne_bytes(bytes(head, UNACKED_AT)?);
    let count = |at| number(info(answer)?, at);
    let acked = count(ACKED_AT);
    Some(Queues {
        unread: u32::from_ne_bytes(bytes(head, UNREAD_AT)?),
        unacked,
        written: acked.map_or(0, |acked| acked.saturating_add(unacked.into())),
        came: count(RECEIVED_AT).unwrap_or(0),
        held_back: info(answer).and_then(is_held_back).unwrap_or(false),
        under_way: unacked > 0 && info(answer).and_then(may_be_under_way).unwrap_or(true),
        full: memory(answer).and_then(is_full).unwrap_or(false),
        small: memory(answer).and_then(is_small).unwrap_or(false),
        closing: 1_u32.checked_shl(head[1].into())? & CLOSING != 0,
    })
}

fn is_held_back(info: &[u8]) -> Option<bool> {
    let count = |at| Some(u32::from_ne_bytes(bytes(info, at)?));
    Some(count(UNSENT_AT)? > 0 && count(ON_THE_WAY_AT)? == 0)
}

/// Whether not all is sent, or the last of it was sent within two round trips or within the current
/// tick. The smoothed round trip would not do: it includes delayed acknowledgements.
fn may_be_under_way(info: &[u8]) -> Option<bool> {
    let count = |at| Some(u64::from(u32::from_ne_bytes(bytes(info, at)?)));
    Some(count(UNSENT_AT)? > 0 || count(SENT_AT)? * 1000 <= 2 * count(ROUND_TRIP_AT)?)
}

fn is_small(memory: &[u8]) -> Option<bool> {
    Some(u32::from_ne_bytes(bytes(memory, RECEIVE_BUFFER_AT)?) < SMALL_BYTES)
}

/// Whether the send buffer has no room. The kernel reports room once the free part is at least half
/// of what is queued (`sk_stream_is_writeable` of net/sock.h).
fn is_full(memory: &[u8]) -> Option<bool> {
    let word = |at| Some(u64::from(u32::from_ne_bytes(bytes(memory, at)?)));
    let (buffer, queued) = (word(SEND_BUFFER_AT)?, word(QUEUED_AT)?);
    Some(queued > 0 && queued + queued / 2 > buffer)
}

fn request_for_one(ends: &Ends) -> Vec<u8> {
    tcp_diag::request(0, socket::family(ends.local), OPEN, |payload| {
        payload.extend(ends.local.port().to_be_bytes());
        payload.extend(ends.remote.port().to_be_bytes());
        payload.extend(padded(ends.local.ip()));
        payload.extend(padded(ends.remote.ip()));
        // Any device.
        payload.extend([0; 4]);
        payload.extend(ANY_COOKIE);
    })
}

fn padded(ip: IpAddr) -> [u8; 16] {
    let mut bytes = [0; 16];
    match ip {
        IpAddr::V4(ip) => bytes[..4].copy_from_slice(&ip.octets()),
        IpAddr::V6(ip) => bytes = ip.octets(),
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn what_waits_is_told_of_both_ends_and_of_a_listener_and_one_that_has_gone_is_none() {
        for ip in ["127.0.0.1", "::1"] {
            let Ok(listener) = TcpListener::bind((ip, 0)) else {
                continue;
            };
            let local = listener.local_addr().unwrap();
            let mut client = TcpStream::connect(local).unwrap();
            let look = QueueLook::open().unwrap();
            let at = Ends {
                local,
                remote: client.local_addr().unwrap(),
            };
            let listening = Ends::of_listener(local);
            assert_eq!(look.of(&listening).unwrap().unwrap().unread, 1);
            let (server, _) = listener.accept().unwrap();
            client.write_all(&[0; 300]).unwrap();
            let limit = std::time::Duration::from_secs(20);
            assert!(crate::clock::wait_until(limit, || {
                look.of(&at).unwrap().unwrap().unread == 300
            }));
            let asks = look.of(&at.turned()).unwrap().unwrap();
            let answering = look.of(&at).unwrap().unwrap();
            assert_eq!((asks.unread, answering.came), (0, 300));
            // The first packet counts for one.
            assert!((300..302).contains(&asks.written), "{asks:?}");
            assert!(look.connections(local.port(), false).unwrap().contains(&at));
            drop((server, client));
            assert!(crate::clock::wait_until(limit, || look
                .of(&at)
                .unwrap()
                .is_none()));
        }
    }

    #[test]
    fn what_is_written_under_a_cork_is_held_back() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let at = Ends {
            local: client.local_addr().unwrap(),
            remote: listener.local_addr().unwrap(),
        };
        let look = QueueLook::open().unwrap();
        for is_corked in [true, false] {
            rustix::net::sockopt::set_tcp_cork(&client, is_corked).unwrap();
            client.write_all(b"?").unwrap();
            let queues = look.of(&at).unwrap().unwrap();
            assert_eq!(queues.held_back, is_corked, "{queues:?}");
        }
    }

    #[test]
    fn who_has_sent_and_not_been_answered_awaits_and_who_has_been_does_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let look = QueueLook::open().unwrap();
        let own = client.local_addr().unwrap();
        let awaits = || {
            let all = look.all().unwrap();
            all.into_iter().find(|it| it.ends.local == own).unwrap()
        };
        assert!(awaits().inode > 0);
        let limit = std::time::Duration::from_secs(20);
        for (answers, expected) in [(false, true), (true, false)] {
            // Repeated until the clock ticks between the two events.
            let is_told = crate::clock::wait_until(limit, || {
                match answers {
                    true => server.write_all(b"!").unwrap(),
                    false => client.write_all(b"?").unwrap(),
                }
                awaits().awaits == expected
            });
            assert!(is_told, "{answers}");
        }
    }

    #[test]
    fn what_was_sent_longer_ago_than_two_round_trips_has_arrived_though_it_is_not_acknowledged() {
        // Unsent bytes, ms since the last send, µs of a round trip.
        let table = [
            (0, 0, 100, true),
            (0, 8, 100, false),
            (0, 40, 20_000, true),
            (0, 44, 20_000, false),
            (1, 44, 100, true),
        ];
        for (unsent, sent_ms, round_trip_us, expected) in table {
            let mut info = [0; ROUND_TRIP_AT + 4];
            let words = [
                (UNSENT_AT, unsent),
                (SENT_AT, sent_ms),
                (ROUND_TRIP_AT, round_trip_us),
            ];
            for (at, word) in words {
                info[at..at + 4].copy_from_slice(&u32::to_ne_bytes(word));
            }
            assert_eq!(may_be_under_way(&info), Some(expected), "{words:?}");
        }
        assert_eq!(may_be_under_way(&[0; UNSENT_AT]), None);
    }

    #[test]
    fn an_answer_cut_short_is_none() {
        for length in [0, 1, 8, ANSWER_BYTES - 1] {
            let answer = [2; ANSWER_BYTES];
            assert_eq!(queues(&answer[..length]), None);
        }
        assert_eq!(ends(&[2; 20]), None);
        assert_eq!(standing(&[2; ANSWER_BYTES - 1]), None);
    }
}
