//! What the kernel knows of TCP connections that are anybody's, by the socket diagnostics that ss(8)
//! asks: no privilege is needed, and sockets of this network namespace are seen alone.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::ControlFlow;

use crate::netlink::{Family, Netlink, attributes, push_message};

/// `SOCK_DIAG_BY_FAMILY` of linux/sock_diag.h.
pub(crate) const BY_FAMILY: u16 = 20;
/// Length of `struct inet_diag_req_v2`, and of `struct inet_diag_msg` (linux/inet_diag.h).
const REQUEST_BYTES: usize = 56;
pub(crate) const ANSWER_BYTES: usize = 72;
/// `INET_DIAG_INFO`: the attribute that holds `struct tcp_info`.
pub(crate) const INFO: u16 = 2;
/// `INET_DIAG_SKMEMINFO`: the attribute that holds how its buffers are filled.
pub(crate) const MEMORY: u16 = 7;
/// `TCP_ESTABLISHED` of net/tcp_states.h.
const ESTABLISHED: u32 = 1;
/// `TCP_LISTEN`.
const LISTEN: u32 = 10;
/// All states of net/tcp_states.h in which a socket carries data or has carried some, and has counters:
/// those from `TCP_ESTABLISHED` to `TCP_CLOSING` but `TCP_SYN_RECV`, `TCP_TIME_WAIT` and `TCP_LISTEN`.
const CARRYING: u32 = 1 << 1 | 1 << 2 | 1 << 4 | 1 << 5 | 1 << 7 | 1 << 8 | 1 << 9 | 1 << 11;
/// `SKNLGRP_INET_TCP_DESTROY` of linux/sock_diag.h: told of each TCP socket as it goes, since Linux 4.3.
const CLOSINGS: u32 = 1;
/// Room for some thousand closings until they are taken.
const KEPT_BYTES: usize = 8 * 1024 * 1024;
/// Where `tcp_info` has the bytes that were acknowledged (linux/tcp.h), since Linux 4.1.
pub(crate) const ACKED_AT: usize = 120;
/// Where it has the bytes that came in, and the segments with data in either direction, since Linux 4.6.
pub(crate) const RECEIVED_AT: usize = 128;
const SEGMENTS_AT: usize = 152;
/// Where it has the three times, since Linux 4.9.
pub(crate) const BUSY_AT: usize = 168;

/// How a connection's sending went since it was opened, as `struct tcp_info` counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sending {
    /// The port of the other end.
    pub peer_port: u16,
    /// What the other end has acknowledged: `tcpi_bytes_acked`.
    pub acked_bytes: u64,
    /// There was something to send, or unacknowledged: `tcpi_busy_time`, µs.
    pub busy_us: u64,
    /// Of that, the receiver's window let no more be sent: `tcpi_rwnd_limited`, µs.
    pub rwnd_limited_us: u64,
    /// Of that, the sender's buffer was too small to have more in flight: `tcpi_sndbuf_limited`, µs.
    pub sndbuf_limited_us: u64,
}

/// What a connection has carried since it was opened, as `struct tcp_info` counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// No other socket has it until the next boot: `idiag_cookie`.
    pub id: u64,
    /// Our own end.
    pub local: SocketAddr,
    /// Payload in both directions, `tcpi_bytes_received` and `tcpi_bytes_acked`, bytes.
    pub bytes: u64,
    /// Segments with payload in both directions, `tcpi_data_segs_in` and `tcpi_data_segs_out`, count.
    pub segments: u64,
}

/// The open connections whose own end has this port.
///
/// # Errors
/// `EPROTONOSUPPORT` or `ENOENT` of kernels without `CONFIG_INET_DIAG`.
pub fn sending_from(port: u16) -> io::Result<Vec<Sending>> {
    dump(port, 1 << ESTABLISHED, sending)
}

/// The connections whose own end has this port, half closed ones as well.
///
/// # Errors
/// As of [`sending_from`].
pub fn carried_at(port: u16) -> io::Result<Vec<Carried>> {
    dump(port, CARRYING, carried)
}

/// The far ends of all TCP connections of this network namespace, with those that are closed and keep their port for a
/// while (`TIME_WAIT`).
///
/// # Errors
/// As of [`sending_from`].
pub fn far_ends() -> io::Result<Vec<SocketAddr>> {
    dump(0, !(1 << LISTEN), |answer| address(answer, 6, 24))
}

/// Hears of each TCP socket of this network namespace that goes, with its last counts.
#[derive(Debug)]
pub struct Closings(Netlink);

impl Closings {
    /// From now on.
    ///
    /// # Errors
    /// `EPROTONOSUPPORT` or `ENOENT` of kernels without `CONFIG_INET_DIAG`.
    pub fn hear() -> io::Result<Self> {
        let netlink = Netlink::open(Family::SocketDiagnostics)?;
        netlink.join(CLOSINGS, KEPT_BYTES)?;
        Ok(Self(netlink))
    }

    /// Those that went since the last call.
    ///
    /// # Errors
    /// `ENOBUFS` where some were lost, since they were not taken in time.
    pub fn take(&self) -> io::Result<Vec<Carried>> {
        let mut found = Vec::new();
        self.0
            .take_told(|message| found.extend(carried(message.payload)))?;
        Ok(found)
    }
}

fn dump<T>(port: u16, states: u32, read: impl Fn(&[u8]) -> Option<T>) -> io::Result<Vec<T>> {
    let netlink = Netlink::open(Family::SocketDiagnostics)?;
    let mut found = Vec::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        netlink.ask(&request(family, port, states), 1, |message| {
            found.extend(read(message.payload));
            ControlFlow::Continue(())
        })?;
    }
    Ok(found)
}

fn request(family: libc::c_int, port: u16, states: u32) -> Vec<u8> {
    let flags = u16::try_from(libc::NLM_F_REQUEST | libc::NLM_F_DUMP).unwrap_or(0);
    let mut datagram = Vec::new();
    push_message(&mut datagram, BY_FAMILY, flags, 1, |payload| {
        payload.extend([family, libc::IPPROTO_TCP].map(|number| number.to_ne_bytes()[0]));
        // The bit of INFO, and padding.
        payload.extend([1 << (INFO - 1), 0]);
        payload.extend(states.to_ne_bytes());
        payload.extend(port.to_be_bytes());
        // Any port and address at the other end, any device.
        payload.extend([0; REQUEST_BYTES - 10]);
    });
    datagram
}

/// `None` for what is no answer, or of a kernel that does not count these times.
fn sending(answer: &[u8]) -> Option<Sending> {
    let peer_port = u16::from_be_bytes(bytes(answer, 6)?);
    let info = info(answer)?;
    Some(Sending {
        peer_port,
        acked_bytes: number(info, ACKED_AT)?,
        busy_us: number(info, BUSY_AT)?,
        rwnd_limited_us: number(info, BUSY_AT + 8)?,
        sndbuf_limited_us: number(info, BUSY_AT + 16)?,
    })
}

/// `None` for what is no answer, or of a kernel that does not count segments of data.
fn carried(answer: &[u8]) -> Option<Carried> {
    let info = info(answer)?;
    let segments = |at| Some(u64::from(u32::from_ne_bytes(bytes(info, at)?)));
    Some(Carried {
        id: number(answer, 44)?,
        local: address(answer, 4, 8)?,
        bytes: number(info, ACKED_AT)?.saturating_add(number(info, RECEIVED_AT)?),
        segments: segments(SEGMENTS_AT)? + segments(SEGMENTS_AT + 4)?,
    })
}

/// An address of `struct inet_diag_sockid`: where its port is, and where its IP address.
pub(crate) fn address(answer: &[u8], port_at: usize, ip_at: usize) -> Option<SocketAddr> {
    let ip = match i32::from(*answer.first()?) {
        libc::AF_INET => IpAddr::from(bytes::<4>(answer, ip_at)?),
        libc::AF_INET6 => IpAddr::from(bytes::<16>(answer, ip_at)?),
        _ => return None,
    };
    Some(SocketAddr::new(
        ip,
        u16::from_be_bytes(bytes(answer, port_at)?),
    ))
}

pub(crate) fn info(answer: &[u8]) -> Option<&[u8]> {
    attribute(answer, INFO)
}

pub(crate) fn memory(answer: &[u8]) -> Option<&[u8]> {
    attribute(answer, MEMORY)
}

fn attribute(answer: &[u8], wanted: u16) -> Option<&[u8]> {
    let mut attributes = attributes(answer.get(ANSWER_BYTES..)?);
    let (_, value) = attributes.find(|(kind, _)| *kind == wanted)?;
    Some(value)
}

pub(crate) fn number(of: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes(of, at)?))
}

pub(crate) fn bytes<const N: usize>(of: &[u8], at: usize) -> Option<[u8; N]> {
    of.get(at..at + N)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_sender_whose_receiver_does_not_read_is_limited_by_its_window() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        server.set_nonblocking(true).unwrap();
        while server.write(&[0; 65_536]).is_ok() {}
        let limited = || sending_from(port).unwrap()[0].rwnd_limited_us > 0;
        assert!(crate::clock::wait_until(
            std::time::Duration::from_secs(20),
            limited
        ));
        let found = sending_from(port).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].peer_port, client.local_addr().unwrap().port());
        assert!(found[0].busy_us >= found[0].rwnd_limited_us);
        assert!(found[0].acked_bytes > 0, "{found:?}");
        client.read_exact(&mut [0; 16]).unwrap();
    }

    #[test]
    fn what_a_connection_carried_is_told_while_it_is_there_and_when_it_goes() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let local = listener.local_addr().unwrap();
        let mut client = TcpStream::connect(local).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let closings = Closings::hear().unwrap();
        client.write_all(&[0; 300]).unwrap();
        server.read_exact(&mut [0; 300]).unwrap();
        server.write_all(&[0; 700]).unwrap();
        client.read_exact(&mut [0; 700]).unwrap();
        let limit = std::time::Duration::from_secs(20);
        let mut found = Vec::new();
        assert!(crate::clock::wait_until(limit, || {
            found = carried_at(local.port()).unwrap();
            found[0].bytes >= 1000
        }));
        let open = found[0];
        assert_eq!((found.len(), open.local, open.segments), (1, local, 2));
        drop((server, client));
        let mut went = Vec::new();
        assert!(crate::clock::wait_until(limit, || {
            let all = closings.take().unwrap();
            went.extend(all.into_iter().filter(|it| it.id == open.id));
            !went.is_empty()
        }));
        assert_eq!((went[0].local, went[0].segments), (local, 2));
        assert!((1000..1003).contains(&went[0].bytes), "{went:?}");
    }

    #[test]
    fn an_answer_cut_short_is_none() {
        for length in [0, 1, 8, ANSWER_BYTES] {
            let answer = [2; ANSWER_BYTES];
            assert_eq!(sending(&answer[..length]), None);
            assert_eq!(carried(&answer[..length]), None);
        }
    }
}
