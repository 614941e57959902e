//! What a connection that carries as much as it can is told, and the ways by which bytes get into a
//! socket and out of it without a copy. Its sockets wait, for as long as their timeouts say.

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

/// A socket of TCP that waits, and is not connected yet.
///
/// # Errors
/// `EMFILE` at the limit of open files, `EAFNOSUPPORT` without IPv6.
pub fn unconnected(address: SocketAddr) -> io::Result<OwnedFd> {
    open(family(address), SocketType::STREAM, None)
}

/// Connects it, for as long as the socket's time to send lets it wait.
///
/// # Errors
/// Those of connect(2); `EINPROGRESS` when that time has passed.
pub fn connect(socket: OwnedFd, address: SocketAddr) -> io::Result<TcpStream> {
    net::connect(&socket, &address)?;
    Ok(TcpStream::from(socket))
}

/// How long a call on a socket may wait before it has failed with `WouldBlock`.
///
/// # Errors
/// None are known.
pub fn set_patience(socket: BorrowedFd<'_>, patience: Duration) -> io::Result<()> {
    for direction in [Timeout::Recv, Timeout::Send] {
        sockopt::set_socket_timeout(socket, direction, Some(patience))?;
    }
    Ok(())
}

/// Throws away what came, without copying it out of the kernel (`MSG_TRUNC`, tcp(7)); how much there
/// was. 0 means that the other end has closed.
///
/// # Errors
/// Those of recv(2); `WouldBlock` when nothing came in the socket's own time.
pub fn discard(socket: BorrowedFd<'_>, most_bytes: usize) -> io::Result<usize> {
    // SAFETY: with MSG_TRUNC a TCP socket writes nothing to where the pointer leads, and so it may be null.
    check_size(unsafe {
        libc::recv(
            socket.as_raw_fd(),
            std::ptr::null_mut(),
            most_bytes,
            libc::MSG_TRUNC,
        )
    })
}

/// Bytes that a full segment has at most (`TCP_MAXSEG`), before the connection is there.
///
/// # Errors
/// `EINVAL` for what no segment can have.
pub fn set_segment_bytes(socket: BorrowedFd<'_>, bytes: u32) -> io::Result<()> {
    let bytes = libc::c_int::try_from(bytes).map_err(io::Error::other)?;
    set_option(socket, libc::IPPROTO_TCP, libc::TCP_MAXSEG, &bytes)
}

/// Asks for buffers of so many bytes both ways, which then no longer grow; how large the one to send and the one to
/// receive are now, without what the kernel adds for its own account. It cuts them to `net.core.wmem_max` and
/// `rmem_max`, and has a least size.
///
/// # Errors
/// None are known.
pub fn set_buffers(socket: BorrowedFd<'_>, bytes: u32) -> io::Result<[usize; 2]> {
    sockopt::set_socket_send_buffer_size(socket, bytes as usize)?;
    sockopt::set_socket_recv_buffer_size(socket, bytes as usize)?;
    let send = sockopt::socket_send_buffer_size(socket)?;
    let receive = sockopt::socket_recv_buffer_size(socket)?;
    // It doubles them.
    Ok([send / 2, receive / 2])
}

/// Marks what is sent with a type of service, of IPv4 or of IPv6. A socket of IPv6 may have a peer of IPv4, for whom
/// the kernel takes that of IPv4.
///
/// # Errors
/// `EPERM` for what only root may ask for.
pub fn set_type_of_service(socket: BorrowedFd<'_>, tos: u8) -> io::Result<()> {
    if sockopt::socket_domain(socket)? == AddressFamily::INET6 {
        // One that is of IPv6 alone may refuse it, and needs none.
        let _ = sockopt::set_ip_tos(socket, tos);
        return Ok(sockopt::set_ipv6_tclass(socket, tos.into())?);
    }
    Ok(sockopt::set_ip_tos(socket, tos)?)
}

/// A socket of UDP at an address that others may have too, if each of them lets it (`SO_REUSEADDR`): what comes
/// for one that is connected goes there, and all else to the last.
///
/// # Errors
/// `EADDRINUSE` where one does not let it.
pub fn shared_udp(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = open(family(address), SocketType::DGRAM, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    net::bind(&socket, &address)?;
    Ok(UdpSocket::from(socket))
}

/// A file that is in memory, its way into a socket through a pipe.
#[derive(Debug)]
pub struct Passage {
    pipe: [OwnedFd; 2],
    waiting_bytes: usize,
}

impl Passage {
    /// Makes the pipe, as large as the kernel lets it be up to so many bytes.
    ///
    /// # Errors
    /// `EMFILE` at the limit of open files.
    pub fn open(bytes: usize) -> io::Result<Self> {
        let (out, into) = pipe_with(PipeFlags::CLOEXEC)?;
        // Where that is not allowed, it takes more calls.
        let _ = fcntl_setpipe_size(&into, bytes);
        let waiting_bytes = 0;
        let pipe = [out, into];
        Ok(Self {
            pipe,
            waiting_bytes,
        })
    }

    /// Puts pages of the file, from its beginning, into the socket; how many bytes.
    ///
    /// # Errors
    /// Those of splice(2); `WouldBlock` when there was no room in the socket's own time.
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
        // What waits may be more, where the call before sent a part.
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

/// Lets [`send_in_place`] be used on a socket (`SO_ZEROCOPY`, Linux 4.14).
///
/// # Errors
/// `ENOTSUPP` or `ENOPROTOOPT` on kernels without it.
pub fn allow_in_place(socket: BorrowedFd<'_>) -> io::Result<()> {
    let is_on: libc::c_int = 1;
    set_option(socket, libc::SOL_SOCKET, libc::SO_ZEROCOPY, &is_on)
}

/// Sends bytes from where they lie (`MSG_ZEROCOPY`): whoever changes them before a note of it came, changes
/// what is sent.
///
/// # Errors
/// Those of send(2); `ENOBUFS` while too many notes are to come.
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

/// How many sends of [`send_in_place`] are done, and how many of them the kernel copied after all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InPlace {
    pub sends: u64,
    pub copied: u64,
}

impl InPlace {
    /// Adds those of which there are notes, waiting so many ms for the first.
    ///
    /// # Errors
    /// Those of recvmsg(2) with `MSG_ERRQUEUE`.
    pub fn take_notes(&mut self, socket: BorrowedFd<'_>, patience_ms: u32) -> io::Result<()> {
        let patience = Timespec {
            tv_sec: 0,
            tv_nsec: i64::from(patience_ms.min(999)) * 1_000_000,
        };
        // Of errors a poll tells that asks for nothing.
        poll(
            &mut [PollFd::from_borrowed_fd(socket, PollFlags::empty())],
            Some(&patience),
        )?;
        while let Some((first, last, is_copied)) = note(socket)? {
            // Numbers of sends, which begin anew after 2^32.
            let sends = u64::from(last.wrapping_sub(first)) + 1;
            self.sends += sends;
            self.copied += if is_copied { sends } else { 0 };
        }
        Ok(())
    }
}

/// The first and the last send that a note is of, and whether they were copied; `None` when there is none.
fn note(socket: BorrowedFd<'_>) -> io::Result<Option<(u32, u32, bool)>> {
    // Of linux/errqueue.h.
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
    // SAFETY: a header that is found there is whole, and of an error queue an extended error follows it.
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
        // As after a send that took a part.
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
