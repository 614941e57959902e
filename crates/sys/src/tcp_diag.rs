//! What the kernel knows of the TCP connections of all processes, by the socket diagnostics that
//! ss(8) uses. No privilege is needed, and only sockets of this network namespace are seen.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::ControlFlow;

use rustix::net::AddressFamily;

use crate::netlink::{Family, Netlink, attributes, push_message};

/// `SOCK_DIAG_BY_FAMILY` of linux/sock_diag.h.
const BY_FAMILY: u16 = 20;
/// Length of `struct inet_diag_msg` (linux/inet_diag.h).
pub(crate) const ANSWER_BYTES: usize = 72;
/// `INET_DIAG_INFO`: the attribute that holds `struct tcp_info`.
const INFO: u16 = 2;
/// `INET_DIAG_SKMEMINFO`: the attribute that tells how full the socket's buffers are.
const MEMORY: u16 = 7;
/// `TCP_LISTEN` of net/tcp_states.h.
const LISTEN: u32 = 10;
/// All states of net/tcp_states.h in which a socket carries data or has carried some, and has
/// counters: those from `TCP_ESTABLISHED` to `TCP_CLOSING` except `TCP_SYN_RECV`, `TCP_TIME_WAIT`
/// and `TCP_LISTEN`.
const CARRYING: u32 = 1 << 1 | 1 << 2 | 1 << 4 | 1 << 5 | 1 << 7 | 1 << 8 | 1 << 9 | 1 << 11;
/// `SKNLGRP_INET_TCP_DESTROY` of linux/sock_diag.h: the group that is told of each TCP socket as it
/// is destroyed, since Linux 4.3.
const CLOSINGS: u32 = 1;
/// Room for some thousand closings that have not been read yet.
const KEPT_BYTES: usize = 8 * 1024 * 1024;
/// Where `tcp_info` has the bytes that were acknowledged (linux/tcp.h), since Linux 4.1.
pub(crate) const ACKED_AT: usize = 120;
/// Where it has the bytes received, and the segments with data in either direction, since Linux
/// 4.6.
pub(crate) const RECEIVED_AT: usize = 128;
const SEGMENTS_AT: usize = 152;

/// What a connection has carried since it was opened, as `struct tcp_info` counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// `idiag_cookie`: no other socket has the same until the next boot.
    pub id: u64,
    /// Address of our own end.
    pub local: SocketAddr,
    /// Payload in both directions, `tcpi_bytes_received` and `tcpi_bytes_acked`, bytes.
    pub bytes: u64,
    /// Segments with payload in both directions, `tcpi_data_segs_in` and `tcpi_data_segs_out`, count.
    pub segments: u64,
}

/// The connections whose own end has this port, including half-closed ones.
///
/// # Errors
/// `EPROTONOSUPPORT` or `ENOENT` of kernels without `CONFIG_INET_DIAG`.
pub fn carried_at(port: u16) -> io::Result<Vec<Carried>> {
    each(&open()?, CARRYING, port, carried)
}

/// The far ends of all TCP connections of this network namespace, including closed ones that keep
/// their port for a while (`TIME_WAIT`).
///
/// # Errors
/// See [`carried_at`].
pub fn far_ends() -> io::Result<Vec<SocketAddr>> {
    each(&open()?, !(1 << LISTEN), 0, |answer| address(answer, 6, 24))
}

/// Reports each TCP socket of this network namespace that is destroyed, with its last counts.
#[derive(Debug)]
pub struct Closings(Netlink);

impl Closings {
    /// Starts to listen for closings.
    ///
    /// # Errors
    /// `EPROTONOSUPPORT` or `ENOENT` of kernels without `CONFIG_INET_DIAG`.
    pub fn hear() -> io::Result<Self> {
        let door = open()?;
        door.join(CLOSINGS, KEPT_BYTES)?;
        Ok(Self(door))
    }

    /// Reads the closings since the last call.
    ///
    /// # Errors
    /// `ENOBUFS` where some were lost because they were not read in time.
    pub fn take(&self) -> io::Result<Vec<Carried>> {
        let mut found = Vec::new();
        self.0
            .take_told(|message| found.extend(carried(message.payload)))?;
        Ok(found)
    }
}

/// Opens the netlink socket for these questions, in the network namespace of the caller.
pub(crate) fn open() -> io::Result<Netlink> {
    Netlink::open(Family::SocketDiagnostics)
}

/// Asks for all sockets in these states, given as bits, whose own end has this port, or any port
/// where it is 0. Returns what `read` makes of each answer.
pub(crate) fn each<T>(
    door: &Netlink,
    states: u32,
    port: u16,
    read: impl Fn(&[u8]) -> Option<T>,
) -> io::Result<Vec<T>> {
    let mut found = Vec::new();
    for family in [AddressFamily::INET, AddressFamily::INET6] {
        let asked = request(libc::NLM_F_DUMP, family, states, |payload| {
            payload.extend(port.to_be_bytes());
            // Any port and address of the other end, any device.
            payload.extend([0; 46]);
        });
        door.ask(&asked, 1, |message| {
            found.extend(read(message.payload));
            ControlFlow::Continue(())
        })?;
    }
    Ok(found)
}

/// `struct inet_diag_req_v2`; `id` writes its `struct inet_diag_sockid`.
pub(crate) fn request(
    flags: libc::c_int,
    family: AddressFamily,
    states: u32,
    id: impl FnOnce(&mut Vec<u8>),
) -> Vec<u8> {
    let flags = u16::try_from(libc::NLM_F_REQUEST | flags).unwrap_or(0);
    let family = libc::c_int::from(family.as_raw());
    let mut datagram = Vec::new();
    push_message(&mut datagram, BY_FAMILY, flags, 1, |payload| {
        payload.extend([family, libc::IPPROTO_TCP].map(|number| number.to_ne_bytes()[0]));
        // Asks for counters and memory; then padding.
        payload.extend([1 << (INFO - 1) | 1 << (MEMORY - 1), 0]);
        payload.extend(states.to_ne_bytes());
        id(payload);
    });
    datagram
}

/// Reads an answer; `None` if it is malformed, or of a kernel that does not count segments of data.
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

/// Reads an address of `struct inet_diag_sockid`, given where its port and its IP address are.
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
            assert_eq!(carried(&answer[..length]), None);
        }
    }
}
