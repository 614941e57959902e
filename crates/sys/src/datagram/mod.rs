//! UDP datagrams, many in one system call: socket options, sends that the kernel cuts and receives
//! that it merges. A [`Batch`] sends or receives several datagrams by one call.

mod batch;

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};

use rustix::net::{self, RecvFlags, SendFlags, sockopt};

use crate::check_size;
use crate::socket::{option, set_option};
pub use batch::Batch;

/// The most bytes that one send, or one datagram, carries over IPv4: 65,535 without the headers of IP
/// and UDP.
pub const MOST_BYTES: usize = 65_507;

/// Sends one datagram, of UDP or a whole frame, on a socket that has a destination.
///
/// # Errors
/// Those of send(2).
pub fn send(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<()> {
    Ok(net::send(socket, bytes, SendFlags::NOSIGNAL).map(drop)?)
}

/// Receives one datagram; returns how many bytes of it are in the buffer.
///
/// # Errors
/// Those of recv(2).
pub fn receive(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    Ok(net::recv(socket, buffer, RecvFlags::empty())?.0)
}

/// Has the kernel cut each send on a socket into datagrams of so many bytes (`UDP_SEGMENT`, Linux
/// 4.18).
///
/// # Errors
/// `ENOPROTOOPT` on kernels without it.
pub fn set_segment_bytes(socket: BorrowedFd<'_>, bytes: u16) -> io::Result<()> {
    let bytes = libc::c_int::from(bytes);
    set_option(socket, libc::SOL_UDP, libc::UDP_SEGMENT, &bytes)
}

/// Bytes of the datagrams into which the kernel cuts each send; 0 where it does not.
///
/// # Errors
/// `ENOPROTOOPT` on kernels that cannot.
pub fn segment_bytes(socket: BorrowedFd<'_>) -> io::Result<u32> {
    number(socket, libc::UDP_SEGMENT)
}

/// Lets the kernel return consecutive datagrams by one receive (`UDP_GRO`, Linux 5.0).
///
/// # Errors
/// `ENOPROTOOPT` on kernels without it.
pub fn allow_merging(socket: BorrowedFd<'_>) -> io::Result<()> {
    let is_on: libc::c_int = 1;
    set_option(socket, libc::SOL_UDP, libc::UDP_GRO, &is_on)
}

/// Whether the kernel may merge datagrams of this socket.
///
/// # Errors
/// `ENOPROTOOPT` on kernels that cannot.
pub fn may_merge(socket: BorrowedFd<'_>) -> io::Result<bool> {
    number(socket, libc::UDP_GRO).map(|held| held != 0)
}

/// Asks for so many bytes of room for data that has arrived and was not received yet. The kernel
/// first cuts the number to `net.core.rmem_max`, and then doubles it for its own account of each
/// datagram.
///
/// # Errors
/// None are known.
pub fn ask_for_room(socket: BorrowedFd<'_>, bytes: i32) -> io::Result<()> {
    let bytes = usize::try_from(bytes).unwrap_or_default();
    Ok(sockopt::set_socket_recv_buffer_size(socket, bytes)?)
}

/// Size of the receive buffer, the kernel's account included.
///
/// # Errors
/// None are known.
pub fn room_bytes(socket: BorrowedFd<'_>) -> io::Result<u32> {
    let bytes = sockopt::socket_recv_buffer_size(socket)?;
    u32::try_from(bytes).map_err(io::Error::other)
}

fn number(socket: BorrowedFd<'_>, name: libc::c_int) -> io::Result<u32> {
    let held: libc::c_int = option(socket, libc::SOL_UDP, name, 0)?;
    u32::try_from(held).map_err(io::Error::other)
}

/// Result of one receive on a socket that lets the kernel merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merged {
    pub bytes: usize,
    /// Size of each datagram in it but the last, which may be shorter; `None` for a single one.
    pub segment_bytes: Option<usize>,
}

/// Room for a control message with a number, aligned as the kernel wants it.
type Control = [u64; 8];
const INT_BYTES: u32 = libc::c_int::BITS / 8;

/// Receives consecutive datagrams, and returns their size.
///
/// # Errors
/// Those of recvmsg(2).
pub fn receive_merged(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<Merged> {
    let mut control = Control::default();
    let mut piece = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    // SAFETY: an all-zero msghdr is valid: numbers, and pointers that may be null.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut piece;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of::<Control>();
    // SAFETY: the message points to the buffer and the control bytes, both writable for the lengths
    // beside them; all of it outlives the call.
    let bytes = check_size(unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0) })?;
    Ok(Merged {
        bytes,
        segment_bytes: reported_segment_bytes(&message),
    })
}

/// Returns the size of datagrams that the kernel has put beside a message that it filled.
fn reported_segment_bytes(message: &libc::msghdr) -> Option<usize> {
    // SAFETY: the message has its own control bytes, and the length of what the kernel wrote there.
    let at = unsafe { libc::CMSG_FIRSTHDR(message) };
    if at.is_null() {
        return None;
    }
    // SAFETY: a header that is found there is whole; it is copied, since a reference to it would
    // not reach what lies behind it.
    let header = unsafe { at.read_unaligned() };
    let is_segment_size = (header.cmsg_level, header.cmsg_type) == (libc::SOL_UDP, libc::UDP_GRO);
    // SAFETY: computes a length and reads nothing.
    let whole_bytes = unsafe { libc::CMSG_LEN(INT_BYTES) } as usize;
    if !is_segment_size || header.cmsg_len < whole_bytes {
        return None;
    }
    // SAFETY: an int follows the header, by its length; it is copied, so it need not be aligned.
    let size = unsafe { libc::CMSG_DATA(at).cast::<libc::c_int>().read_unaligned() };
    usize::try_from(size).ok()
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::os::fd::AsFd as _;
    use std::time::Duration;

    use super::*;

    /// Two sockets, each connected to the other.
    pub(super) fn pair() -> [UdpSocket; 2] {
        let [one, other] = [0; 2].map(|_| UdpSocket::bind("127.0.0.1:0").unwrap());
        one.connect(other.local_addr().unwrap()).unwrap();
        other.connect(one.local_addr().unwrap()).unwrap();
        for socket in [&one, &other] {
            let patience = Some(Duration::from_secs(20));
            socket.set_read_timeout(patience).unwrap();
        }
        [one, other]
    }

    #[test]
    fn a_send_is_cut_into_datagrams_of_the_size_that_was_set() {
        let [sender, receiver] = pair();
        assert_eq!(segment_bytes(sender.as_fd()).unwrap(), 0);
        set_segment_bytes(sender.as_fd(), 100).unwrap();
        assert_eq!(segment_bytes(sender.as_fd()).unwrap(), 100);
        assert_eq!(sender.send(&[7; 250]).unwrap(), 250);
        let mut buffer = [0; 300];
        let came = [0; 3].map(|_| receiver.recv(&mut buffer).unwrap());
        assert_eq!(came, [100, 100, 50]);
    }

    #[test]
    fn what_came_in_a_row_is_received_at_once_with_the_size_of_its_pieces() {
        let [sender, receiver] = pair();
        set_segment_bytes(sender.as_fd(), 100).unwrap();
        assert!(!may_merge(receiver.as_fd()).unwrap());
        allow_merging(receiver.as_fd()).unwrap();
        assert!(may_merge(receiver.as_fd()).unwrap());
        let mut buffer = [0; 300];
        for (sent, segment_bytes) in [(250, Some(100)), (80, None)] {
            sender.send(&vec![7; sent]).unwrap();
            let merged = receive_merged(receiver.as_fd(), &mut buffer).unwrap();
            let bytes = sent;
            assert_eq!(
                merged,
                Merged {
                    bytes,
                    segment_bytes
                }
            );
        }
    }

    #[test]
    fn room_is_doubled_and_can_be_read_back() {
        let [_, receiver] = pair();
        ask_for_room(receiver.as_fd(), 10_000).unwrap();
        assert_eq!(room_bytes(receiver.as_fd()).unwrap(), 20_000);
    }
}
