//! Netlink: the socket through which parts of the kernel such as nftables and audit are accessed,
//! and the framing of its messages. What the messages say is the caller's business.

use std::io;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketType, netlink, sockopt};

use crate::socket;

/// Length of `struct nlmsghdr`.
const HEADER_BYTES: usize = 16;
/// Larger than any datagram of a dump, bytes: the kernel fills at most 32 KiB (`netlink_recvmsg`).
const RECEIVE_BYTES: usize = 64 * 1024;
/// How long to wait for an answer. The kernel answers within the call that asks, so after this time
/// no answer will come.
const ANSWER_WAIT: Duration = Duration::from_millis(500);

/// The part of the kernel that a socket talks to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// nftables and connection tracking.
    Netfilter,
    /// The audit subsystem.
    Audit,
    /// Network devices, their queueing disciplines and the filters on them.
    Route,
    /// Information about sockets.
    SocketDiagnostics,
    /// The parts that have no number of their own, and are found by name.
    Generic,
}

/// One message: its type, its flags (whether it is one of several), its sequence number and its
/// payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    pub kind: u16,
    pub flags: u16,
    pub sequence: u32,
    pub payload: &'a [u8],
}

/// An open netlink socket.
#[derive(Debug)]
pub struct Netlink {
    fd: OwnedFd,
}

impl Netlink {
    /// Opens a socket to one part of the kernel, in the network namespace of the caller.
    ///
    /// # Errors
    /// `EPROTONOSUPPORT` where the kernel lacks that part.
    pub fn open(family: Family) -> io::Result<Self> {
        let protocol = match family {
            Family::Netfilter => Some(netlink::NETFILTER),
            Family::Audit => Some(netlink::AUDIT),
            // It is protocol 0.
            Family::Route => None,
            Family::SocketDiagnostics => Some(netlink::SOCK_DIAG),
            Family::Generic => Some(netlink::GENERIC),
        };
        let fd = socket::open(AddressFamily::NETLINK, SocketType::RAW, protocol)?;
        sockopt::set_socket_timeout(&fd, sockopt::Timeout::Recv, Some(ANSWER_WAIT))?;
        Ok(Self { fd })
    }

    /// Sends one datagram of whole messages and passes every answer to `each` until the kernel says
    /// that it is done: by the end of a dump, or by the acknowledgement of the message with the
    /// sequence number `last`; or until `each` breaks off.
    ///
    /// # Errors
    /// The errno that the kernel answered with; `EAGAIN` when it did not answer.
    pub fn ask(
        &self,
        request: &[u8],
        last: u32,
        mut each: impl FnMut(Message<'_>) -> ControlFlow<()>,
    ) -> io::Result<()> {
        match self.send(request) {
            Err(error) if error.raw_os_error() == Some(libc::EMSGSIZE) => {
                // Only `CAP_NET_ADMIN` over the machine may go beyond what the system lets
                // everybody send (socket(7)).
                sockopt::set_socket_send_buffer_size_force(&self.fd, request.len())?;
                self.send(request)?;
            }
            sent => sent?,
        }
        let mut buffer = vec![0; RECEIVE_BYTES];
        loop {
            let (received, _) = net::recv(&self.fd, &mut buffer[..], RecvFlags::empty())?;
            for message in messages(&buffer[..received]) {
                match ending(&message)? {
                    DumpEnd::Dump => return Ok(()),
                    DumpEnd::Acknowledged if message.sequence == last => return Ok(()),
                    DumpEnd::Acknowledged => {}
                    DumpEnd::NotYet if each(message).is_break() => return Ok(()),
                    DumpEnd::NotYet => {}
                }
            }
        }
    }

    /// Subscribes to what the kernel sends to a group of listeners, and has it buffer up to
    /// `keep_bytes` until they are received: fewer where the system does not allow that many
    /// (socket(7)).
    ///
    /// # Errors
    /// `ENOENT` for a group that does not exist.
    pub fn join(&self, group: u32, keep_bytes: usize) -> io::Result<()> {
        sockopt::set_socket_recv_buffer_size_force(&self.fd, keep_bytes)
            .or_else(|_| sockopt::set_socket_recv_buffer_size(&self.fd, keep_bytes))?;
        let groups = 1 << (group - 1);
        Ok(net::bind(
            &self.fd,
            &netlink::SocketAddrNetlink::new(0, groups),
        )?)
    }

    /// Passes on all messages to the group that have arrived, and does not wait for more.
    ///
    /// # Errors
    /// `ENOBUFS` once where more was sent than is buffered: the excess is lost.
    pub fn take_told(&self, mut each: impl FnMut(Message<'_>)) -> io::Result<()> {
        let mut buffer = vec![0; RECEIVE_BYTES];
        loop {
            match net::recv(&self.fd, &mut buffer[..], RecvFlags::DONTWAIT) {
                Ok((received, _)) => messages(&buffer[..received]).for_each(&mut each),
                Err(rustix::io::Errno::AGAIN) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Sends to the kernel, as an unconnected netlink socket does.
    fn send(&self, datagram: &[u8]) -> io::Result<()> {
        net::send(&self.fd, datagram, SendFlags::empty())?;
        Ok(())
    }
}

/// Appends one message to `datagram`; `fill` writes its payload.
///
/// # Panics
/// When the payload is 4 GiB long.
pub fn push_message(
    datagram: &mut Vec<u8>,
    kind: u16,
    flags: u16,
    sequence: u32,
    fill: impl FnOnce(&mut Vec<u8>),
) {
    let start = datagram.len();
    datagram.extend([0; HEADER_BYTES]);
    fill(datagram);
    let length = u32::try_from(datagram.len() - start).expect("a message is far below 4 GiB");
    let header = &mut datagram[start..start + HEADER_BYTES];
    header[0..4].copy_from_slice(&length.to_ne_bytes());
    header[4..6].copy_from_slice(&kind.to_ne_bytes());
    header[6..8].copy_from_slice(&flags.to_ne_bytes());
    header[8..12].copy_from_slice(&sequence.to_ne_bytes());
    datagram.resize(start + aligned(datagram.len() - start), 0);
}

/// The whole messages of a datagram; bytes that make no message end the list.
pub fn messages(datagram: &[u8]) -> impl Iterator<Item = Message<'_>> {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        let header = rest.get(..HEADER_BYTES)?;
        let length = usize::try_from(u32_at(header, 0)).ok()?;
        let payload = rest.get(HEADER_BYTES..length)?;
        rest = rest.get(aligned(length)..).unwrap_or_default();
        Some(Message {
            kind: u16::from_ne_bytes([header[4], header[5]]),
            flags: u16::from_ne_bytes([header[6], header[7]]),
            sequence: u32_at(header, 8),
            payload,
        })
    })
}

/// The attributes of a payload, as type and value, without the flags for nesting and byte order;
/// bytes that make no attribute end the list. Layout: `struct nlattr` in linux/netlink.h.
pub fn attributes(payload: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    const HEADER: usize = 4;
    const FLAGS: u16 = 0b11 << 14;
    let mut rest = payload;
    std::iter::from_fn(move || {
        let header = rest.get(..HEADER)?;
        let length = usize::from(u16::from_ne_bytes([header[0], header[1]]));
        let kind = u16::from_ne_bytes([header[2], header[3]]) & !FLAGS;
        let value = rest.get(HEADER..length)?;
        rest = rest.get(aligned(length)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// Appends one attribute to `payload`, padded as [`attributes`] reads it; `fill` writes its value,
/// which may consist of attributes.
///
/// # Panics
/// When the value is 64 KiB long.
pub fn push_attribute(payload: &mut Vec<u8>, kind: u16, fill: impl FnOnce(&mut Vec<u8>)) {
    let start = payload.len();
    payload.extend([0; 4]);
    fill(payload);
    let length = u16::try_from(payload.len() - start).expect("an attribute is far below 64 KiB");
    payload[start..start + 2].copy_from_slice(&length.to_ne_bytes());
    payload[start + 2..start + 4].copy_from_slice(&kind.to_ne_bytes());
    payload.resize(start + aligned(payload.len() - start), 0);
}

enum DumpEnd {
    NotYet,
    Dump,
    Acknowledged,
}

/// What a message says about the end of the answer. An error message is an error, and so is the end
/// of a list that the kernel could not continue.
fn ending(message: &Message<'_>) -> io::Result<DumpEnd> {
    let errno = errno_of(message.payload);
    match i32::from(message.kind) {
        libc::NLMSG_DONE => match errno {
            Some(negated @ ..0) => Err(io::Error::from_raw_os_error(-negated)),
            _ => Ok(DumpEnd::Dump),
        },
        libc::NLMSG_ERROR => match errno {
            Some(0) => Ok(DumpEnd::Acknowledged),
            Some(negated) => Err(io::Error::from_raw_os_error(-negated)),
            None => Err(io::ErrorKind::InvalidData.into()),
        },
        _ => Ok(DumpEnd::NotYet),
    }
}

fn errno_of(payload: &[u8]) -> Option<i32> {
    Some(i32::from_ne_bytes(payload.get(..4)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Pads a length: messages start at multiples of four (`NLMSG_ALIGNTO`).
const fn aligned(length: usize) -> usize {
    length.next_multiple_of(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_as_they_were_written_whatever_their_length() {
        let mut datagram = Vec::new();
        push_message(&mut datagram, 7, 1, 40, |payload| payload.extend(b"odd"));
        push_message(&mut datagram, 8, 2, 41, |payload| payload.extend(b"even"));
        let read: Vec<_> = messages(&datagram).collect();
        assert_eq!(
            read[0],
            Message {
                kind: 7,
                flags: 1,
                sequence: 40,
                payload: b"odd"
            }
        );
        assert_eq!(
            read[1],
            Message {
                kind: 8,
                flags: 2,
                sequence: 41,
                payload: b"even"
            }
        );
        assert_eq!((read.len(), datagram.len() % 4), (2, 0));
    }

    #[test]
    fn a_datagram_cut_short_or_with_a_wrong_length_ends_without_a_message() {
        let mut datagram = Vec::new();
        push_message(&mut datagram, 7, 1, 40, |payload| payload.extend(b"four"));
        assert_eq!(messages(&datagram[..18]).count(), 0);
        for wrong_length in [0_u32, 15, u32::MAX] {
            datagram[0..4].copy_from_slice(&wrong_length.to_ne_bytes());
            assert_eq!(messages(&datagram).count(), 0, "{wrong_length}");
        }
    }

    #[test]
    fn attributes_are_read_and_one_with_a_wrong_length_ends_them() {
        let mut payload = Vec::new();
        payload.extend(7_u16.to_ne_bytes());
        payload.extend(0x8003_u16.to_ne_bytes());
        payload.extend(b"odd\0");
        payload.extend([2, 0, 1, 0]);
        let read: Vec<_> = attributes(&payload).collect();
        assert_eq!(read, [(3, &b"odd"[..])]);
    }

    #[test]
    fn attributes_come_back_as_they_were_written_nested_ones_as_well() {
        let mut payload = Vec::new();
        push_attribute(&mut payload, 3, |value| value.extend(b"odd"));
        push_attribute(&mut payload, 4, |value| {
            push_attribute(value, 5, |value| value.extend(b"inner"));
        });
        let read: Vec<_> = attributes(&payload).collect();
        assert_eq!(read[0], (3, &b"odd"[..]));
        let inner: Vec<_> = attributes(read[1].1).collect();
        assert_eq!((read[1].0, inner), (4, vec![(5, &b"inner"[..])]));
    }

    #[test]
    fn an_error_answer_gives_its_errno_and_a_zero_acknowledges() {
        let answer = |errno: i32| {
            let mut datagram = Vec::new();
            let kind = u16::try_from(libc::NLMSG_ERROR).unwrap();
            push_message(&mut datagram, kind, 0, 1, |payload| {
                payload.extend(errno.to_ne_bytes());
            });
            datagram
        };
        let outcome = |datagram: &[u8]| ending(&messages(datagram).next().unwrap());
        assert!(matches!(outcome(&answer(0)), Ok(DumpEnd::Acknowledged)));
        let error = outcome(&answer(-libc::EPERM)).err().unwrap();
        assert_eq!(error.raw_os_error(), Some(libc::EPERM));
    }
}
