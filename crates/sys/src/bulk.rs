//! Bulk transfers: the options of a connection that carries as much as it can, and ways to move
//! bytes into a socket and out of it without a copy. These sockets block, for as long as their
//! timeouts say.

use std::io;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{self, AddressFamily, SocketType};
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};

use crate::check_size;
use crate::socket::{family, open, or_later, set_option};

/// Opens a blocking TCP socket that is not connected yet.
///
/// # Errors
/// `EMFILE` at the limit of open files, `EAFNOSUPPORT` without IPv6.
pub fn unconnected(address: SocketAddr) -> io::Result<OwnedFd> {
    open(family(address), SocketType::STREAM, None)
}

/// Connects the socket, and waits for as long as its send timeout allows.
///
/// # Errors
/// Those of connect(2); `EINPROGRESS` when the timeout has passed.
pub fn connect(socket: OwnedFd, address: SocketAddr) -> io::Result<TcpStream> {
    net::connect(&socket, &address)?;
    Ok(TcpStream::from(socket))
}

/// Sets how long a call on a socket may wait before it fails with `WouldBlock`.
///
/// # Errors
/// None are known.
pub fn set_patience(socket: BorrowedFd<'_>, patience: Duration) -> io::Result<()> {
    for direction in [Timeout::Recv, Timeout::Send] {
        sockopt::set_socket_timeout(socket, direction, Some(patience))?;
    }
    Ok(())
}

/// Throws away received bytes without copying them out of the kernel (`MSG_TRUNC`, tcp(7)), and
/// returns how many there were. 0 means that the other end has closed.
///
/// # Errors
/// Those of recv(2); `WouldBlock` when nothing arrived within the socket's timeout.
pub fn discard(socket: BorrowedFd<'_>, most_bytes: usize) -> io::Result<usize> {
    // SAFETY: with MSG_TRUNC a TCP socket writes nothing through the pointer, so it may be null.
    check_size(unsafe {
        libc::recv(
            socket.as_raw_fd(),
            std::ptr::null_mut(),
            most_bytes,
            libc::MSG_TRUNC,
        )
    })
}

/// Sets the most bytes that a segment may have (`TCP_MAXSEG`), before the connection is made.
///
/// # Errors
/// `EINVAL` for a size that no segment can have.
pub fn set_segment_bytes(socket: BorrowedFd<'_>, bytes: u32) -> io::Result<()> {
    let bytes = libc::c_int::try_from(bytes).map_err(io::Error::other)?;
    set_option(socket, libc::IPPROTO_TCP, libc::TCP_MAXSEG, &bytes)
}

/// Asks for buffers of this size in both directions, which then no longer grow. Returns the sizes
/// of the send and the receive buffer, without what the kernel adds for its own account. The kernel
/// cuts them to `net.core.wmem_max` and `rmem_max`, and has a minimum size.
///
/// # Errors
/// None are known.
pub fn set_buffers(socket: BorrowedFd<'_>, bytes: u32) -> io::Result<[usize; 2]> {
    sockopt::set_socket_send_buffer_size(socket, bytes as usize)?;
    sockopt::set_socket_recv_buffer_size(socket, bytes as usize)?;
    let send = sockopt::socket_send_buffer_size(socket)?;
    let receive = sockopt::socket_recv_buffer_size(socket)?;
    // The kernel doubles them.
    Ok([send / 2, receive / 2])
}

/// Marks sent packets with a type of service, of IPv4 or of IPv6. An IPv6 socket may have an IPv4
/// peer, for which the kernel uses the IPv4 value.
///
/// # Errors
/// `EPERM` for a value that only root may set.
pub fn set_type_of_service(socket: BorrowedFd<'_>, tos: u8) -> io::Result<()> {
    if sockopt::socket_domain(socket)? == AddressFamily::INET6 {
        // A socket that is for IPv6 alone may refuse it, and does not need it.
        let _ = sockopt::set_ip_tos(socket, tos);
        return Ok(sockopt::set_ipv6_tclass(socket, tos.into())?);
    }
    Ok(sockopt::set_ip_tos(socket, tos)?)
}

/// Opens a UDP socket at an address that others may share, if each of them allows it
/// (`SO_REUSEADDR`). Datagrams from the peer of a connected socket go to that socket, and all
/// others to the one opened last.
///
/// # Errors
/// `EADDRINUSE` where one of the others does not allow it.
pub fn shared_udp(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = open(family(address), SocketType::DGRAM, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    net::bind(&socket, &address)?;
    Ok(UdpSocket::from(socket))
}

/// A pipe that carries a file in memory into a socket.
#[derive(Debug)]
pub struct Passage {
    pipe: [OwnedFd; 2],
    waiting_bytes: usize,
}

impl Passage {
    /// Makes the pipe, as large as the kernel allows, up to `bytes`.
    ///
    /// # Errors
    /// `EMFILE` at the limit of open files.
    pub fn open(bytes: usize) -> io::Result<Self> {
        let (out, into) = pipe_with(PipeFlags::CLOEXEC)?;
        // Where the kernel refuses that size, sending takes more calls.
        let _ = fcntl_setpipe_size(&into, bytes);
        let waiting_bytes = 0;
        let pipe = [out, into];
        Ok(Self {
            pipe,
            waiting_bytes,
        })
    }

    /// Puts pages from the beginning of the file into the socket; returns how many bytes.
    ///
    /// # Errors
    /// Those of splice(2); `WouldBlock` when no room became free within the socket's timeout.
    pub fn send(
        &mut self,
        file: BorrowedFd<'_>,
        socket: BorrowedFd<'_>,
        most_bytes: usize,
    ) -> io::Result<usize> {
        let [out, into] = &self.pipe;
        if self.waiting_bytes == 0 {
            let flags = SpliceFlags::empty();
            self.waiting_bytes = splice(file, Some(&mut 0), into, None, most_bytes, flags)?;
        }
        // More than that may wait in the pipe, where the call before sent only a part.
        let bytes = self.waiting_bytes.min(most_bytes);
        let flags = match bytes < self.waiting_bytes {
            true => SpliceFlags::MORE,
            false => SpliceFlags::empty(),
        };
        let sent = splice(out, None, socket, None, bytes, flags)?;
        self.waiting_bytes -= sent;
        Ok(sent)
    }
}

/// Allows [`send_in_place`] on a socket (`SO_ZEROCOPY`, Linux 4.14).
///
/// # Errors
/// `ENOTSUPP` or `ENOPROTOOPT` on kernels without it.
pub fn allow_in_place(socket: BorrowedFd<'_>) -> io::Result<()> {
    let is_on: libc::c_int = 1;
    set_option(socket, libc::SOL_SOCKET, libc::SO_ZEROCOPY, &is_on)
}

/// Sends bytes from where they lie (`MSG_ZEROCOPY`): to change them before the kernel has reported
/// the send as done changes what is sent.
///
/// # Errors
/// Those of send(2); `ENOBUFS` while too many of these reports are outstanding.
pub fn send_in_place(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: the bytes are readable for their length during the call; after it the kernel holds their
    // pages by itself.
    check_size(unsafe {
        libc::send(
            socket.as_raw_fd(),
            bytes.as_ptr().cast(),
            bytes.len(),
            libc::MSG_ZEROCOPY | libc::MSG_NOSIGNAL,
        )
    })
}

/// Number of sends by [`send_in_place`] that are done, and how many of them the kernel copied after
/// all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InPlace {
    pub sends: u64,
    pub copied: u64,
}

impl InPlace {
    /// Adds the sends that the kernel reports as done. Waits up to `patience_ms`, 999 at most, for
    /// the first report.
    ///
    /// # Errors
    /// Those of recvmsg(2) with `MSG_ERRQUEUE`.
    pub fn take_notes(&mut self, socket: BorrowedFd<'_>, patience_ms: u32) -> io::Result<()> {
        let patience = Timespec {
            tv_sec: 0,
            tv_nsec: i64::from(patience_ms.min(999)) * 1_000_000,
        };
        // A poll that asks for nothing still reports errors.
        poll(
            &mut [PollFd::from_borrowed_fd(socket, PollFlags::empty())],
            Some(&patience),
        )?;
        while let Some((first, last, is_copied)) = note(socket)? {
            // These are numbers of sends, which wrap around after 2^32.
            let sends = u64::from(last.wrapping_sub(first)) + 1;
            self.sends += sends;
            self.copied += if is_copied { sends } else { 0 };
        }
        Ok(())
    }
}

/// Reads one report: the first and the last send that it covers, and whether they were copied.
/// `None` when there is none.
fn note(socket: BorrowedFd<'_>) -> io::Result<Option<(u32, u32, bool)>> {
    // From linux/errqueue.h.
    const ORIGIN_ZEROCOPY: u8 = 5;
    const CODE_COPIED: u8 = 1;
    let mut control = [0_u64; 16];
    // SAFETY: an all-zero msghdr is valid: numbers, and pointers that may be null.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control);
    let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
    // SAFETY: the message points to control bytes, writable for the length beside them, which outlive the call.
    let took = check_size(unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags) });
    if or_later(took)?.is_none() {
        return Ok(None);
    }
    // SAFETY: the message has its own control bytes, and the length of what the kernel wrote there.
    let at = unsafe { libc::CMSG_FIRSTHDR(&raw const message) };
    if at.is_null() {
        return Ok(None);
    }
    // SAFETY: a header that is found there is whole, and on an error queue an extended error
    // follows it.
    let error = unsafe {
        libc::CMSG_DATA(at)
            .cast::<libc::sock_extended_err>()
            .read_unaligned()
    };
    let is_note = error.ee_errno == 0 && error.ee_origin == ORIGIN_ZEROCOPY;
    Ok(is_note.then_some((
        error.ee_info,
        error.ee_data,
        error.ee_code & CODE_COPIED != 0,
    )))
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::os::fd::AsFd as _;

    use super::*;

    fn pair() -> [TcpStream; 2] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        [near, listener.accept().unwrap().0]
    }

    fn received(mut far: &TcpStream, bytes: usize) -> Vec<u8> {
        let mut buffer = vec![0; bytes];
        far.read_exact(&mut buffer).unwrap();
        buffer
    }

    #[test]
    fn what_is_discarded_is_counted_and_gone() {
        let [mut near, far] = pair();
        near.write_all(b"all of this goes").unwrap();
        assert_eq!(discard(far.as_fd(), 12).unwrap(), 12);
        assert_eq!(received(&far, 4), b"goes");
        drop(near);
        assert_eq!(discard(far.as_fd(), 12).unwrap(), 0);
    }

    #[test]
    fn a_file_goes_through_a_pipe_and_memory_from_where_it_lies() {
        let [near, far] = pair();
        let mut file = crate::memory_file::empty().unwrap();
        file.write_all(&[7; 9000]).unwrap();
        let mut passage = Passage::open(1 << 20).unwrap();
        let sent = passage.send(file.as_fd(), near.as_fd(), 9000).unwrap();
        assert!(sent > 0);
        assert_eq!(received(&far, sent), vec![7; sent]);
        allow_in_place(near.as_fd()).unwrap();
        let bytes = vec![9; 70_000];
        let sent = send_in_place(near.as_fd(), &bytes).unwrap();
        assert_eq!(received(&far, sent), &bytes[..sent]);
        let mut done = InPlace::default();
        let socket = near.as_fd();
        let is_noted = || {
            done.take_notes(socket, 1).unwrap();
            done.sends == 1
        };
        assert!(crate::clock::wait_until(
            std::time::Duration::from_secs(20),
            is_noted
        ));
    }

    #[test]
    fn no_more_leaves_a_pipe_than_was_asked_for() {
        let [near, far] = pair();
        let mut file = crate::memory_file::empty().unwrap();
        file.write_all(&[7; 9000]).unwrap();
        let mut passage = Passage::open(1 << 20).unwrap();
        // As after a send that took only a part.
        passage.waiting_bytes = 9000;
        let [_, into] = &passage.pipe;
        splice(
            file.as_fd(),
            Some(&mut 0),
            into,
            None,
            9000,
            SpliceFlags::empty(),
        )
        .unwrap();
        assert_eq!(passage.send(file.as_fd(), near.as_fd(), 100).unwrap(), 100);
        assert_eq!(received(&far, 100), [7; 100]);
    }

    #[test]
    fn buffers_are_told_as_they_are_and_not_as_they_were_asked_for() {
        let [near, _far] = pair();
        assert_eq!(
            set_buffers(near.as_fd(), 64 * 1024).unwrap(),
            [64 * 1024; 2]
        );
        let most = set_buffers(near.as_fd(), 1 << 30).unwrap();
        assert!(most.iter().all(|bytes| *bytes < 1 << 30), "{most:?}");
    }

    #[test]
    fn a_type_of_service_is_that_of_a_peer_of_ipv4_too_where_the_socket_is_of_ipv6() {
        // Where the machine has IPv6.
        let Ok(listener) = TcpListener::bind("[::]:0") else {
            return;
        };
        let port = listener.local_addr().unwrap().port();
        let _near = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let far = listener.accept().unwrap().0;
        set_type_of_service(far.as_fd(), 32).unwrap();
        assert_eq!(sockopt::ip_tos(&far).unwrap(), 32);
        assert_eq!(sockopt::ipv6_tclass(&far).unwrap(), 32);
    }

    #[test]
    fn a_socket_that_is_connected_takes_what_is_for_it_and_the_next_one_the_rest() {
        let first = shared_udp("127.0.0.1:0".parse().unwrap()).unwrap();
        let [one, other] = [0; 2].map(|_| UdpSocket::bind("127.0.0.1:0").unwrap());
        first.connect(one.local_addr().unwrap()).unwrap();
        let next = shared_udp(first.local_addr().unwrap()).unwrap();
        for (from, to) in [(&one, &first), (&other, &next)] {
            to.set_read_timeout(Some(std::time::Duration::from_secs(20)))
                .unwrap();
            from.send_to(b"hello", first.local_addr().unwrap()).unwrap();
            assert_eq!(
                to.recv_from(&mut [0; 9]).unwrap().1,
                from.local_addr().unwrap()
            );
        }
    }
}
