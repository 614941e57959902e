//! TCP sockets: listen, connect, move bytes; all non-blocking and closed on exec.
#![expect(
    clippy::cast_possible_truncation,
    reason = "the kernel's constants fit the fields that they are for"
)]

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};

use crate::{check, check_size, opened};

/// How a listener is set up.
#[derive(Clone, Copy, Debug)]
pub struct ListenOptions {
    /// Several listeners may share the port, one per worker (`SO_REUSEPORT`).
    pub shared_port: bool,
    /// Connections that may wait to be accepted; the kernel cuts it to `somaxconn`.
    pub backlog: i32,
}

/// Opens a listening socket.
///
/// # Errors
/// `EADDRINUSE` when the port is taken, `EACCES` below port 1024 without privilege.
pub fn listen(address: SocketAddr, options: ListenOptions) -> io::Result<TcpListener> {
    let socket = open_stream(address)?;
    set_flag(&socket, libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
    if options.shared_port {
        set_flag(&socket, libc::SOL_SOCKET, libc::SO_REUSEPORT, 1)?;
    }
    // Accepted sockets inherit it: an answer leaves at once instead of waiting for an ACK.
    set_flag(&socket, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)?;
    let (raw, length) = raw_address(address);
    // SAFETY: `raw` is a valid socket address of `length` bytes that outlives the call.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const raw).cast(), length) })?;
    // SAFETY: no pointers; the socket is open and bound.
    check(unsafe { libc::listen(socket.as_raw_fd(), options.backlog) })?;
    Ok(TcpListener::from(socket))
}

/// Lets the kernel give a new connection to the listener whose index in the shared port's group
/// is the number of the CPU that received it. The index is the order in which listen(2) was called
/// on them, so open them in the order of their CPUs first.
///
/// # Errors
/// `EPERM` or `ENOPROTOOPT` on kernels without it.
pub fn choose_listener_by_cpu(listener: BorrowedFd<'_>) -> io::Result<()> {
    // A = number of the receiving CPU; return A. SKF_AD_OFF and SKF_AD_CPU: linux/filter.h.
    const LOAD_ABSOLUTE: u16 = 0x20;
    const RETURN_A: u16 = 0x16;
    const AD_OFF_PLUS_CPU: u32 = 0xffff_f000 + 36;
    let mut program = [
        libc::sock_filter {
            code: LOAD_ABSOLUTE,
            jt: 0,
            jf: 0,
            k: AD_OFF_PLUS_CPU,
        },
        libc::sock_filter {
            code: RETURN_A,
            jt: 0,
            jf: 0,
            k: 0,
        },
    ];
    let program = libc::sock_fprog {
        len: 2,
        filter: program.as_mut_ptr(),
    };
    set_option(
        listener,
        libc::SOL_SOCKET,
        libc::SO_ATTACH_REUSEPORT_CBPF,
        &program,
    )
}

/// Takes one waiting connection; `None` when none waits.
///
/// # Errors
/// `EMFILE` or `ENFILE` at the limit of open files.
pub fn accept(listener: BorrowedFd<'_>) -> io::Result<Option<OwnedFd>> {
    // SAFETY: null address and length mean that the peer's address is not wanted.
    let accepted = unsafe {
        opened(libc::accept4(
            listener.as_raw_fd(),
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC,
        ))
    };
    match accepted {
        Ok(socket) => Ok(Some(socket)),
        // A connection that was aborted while it waited is none (accept(2)).
        Err(error) if is_later(&error) || error.raw_os_error() == Some(libc::ECONNABORTED) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Starts to connect without waiting; writable means done, then [`connect_outcome`] tells how.
///
/// # Errors
/// `EADDRNOTAVAIL` when no local port is left, `ENETUNREACH` without a route.
pub fn connect(address: SocketAddr) -> io::Result<OwnedFd> {
    let socket = open_stream(address)?;
    set_flag(&socket, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)?;
    let (raw, length) = raw_address(address);
    // SAFETY: `raw` is a valid socket address of `length` bytes that outlives the call.
    let outcome =
        check(unsafe { libc::connect(socket.as_raw_fd(), (&raw const raw).cast(), length) });
    match outcome {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
        _ => Ok(socket),
    }
}

/// How a connection attempt ended.
///
/// # Errors
/// `ECONNREFUSED`, `ETIMEDOUT` and the others of connect(2).
pub fn connect_outcome(socket: BorrowedFd<'_>) -> io::Result<()> {
    let stream = socket.try_clone_to_owned().map(TcpStream::from)?;
    stream.take_error()?.map_or(Ok(()), Err)
}

/// Closing the socket resets the connection and leaves no TIME_WAIT behind: for a client that
/// opens thousands of connections to one address.
///
/// # Errors
/// None are known.
pub fn reset_on_close(socket: BorrowedFd<'_>) -> io::Result<()> {
    let linger = libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    set_option(socket, libc::SOL_SOCKET, libc::SO_LINGER, &linger)
}

/// Room for the name of a congestion control algorithm (`TCP_CA_NAME_MAX`).
const ALGORITHM_BYTES: usize = 16;

/// The algorithm that paces what a TCP socket sends, by the kernel's name; a listener's is that of
/// the connections it accepts.
///
/// # Errors
/// None are known for a TCP socket.
pub fn congestion_control(socket: BorrowedFd<'_>) -> io::Result<String> {
    let name: [u8; ALGORITHM_BYTES] = option(
        socket,
        libc::IPPROTO_TCP,
        libc::TCP_CONGESTION,
        [0; ALGORITHM_BYTES],
    )?;
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(name).into_owned())
}

/// Chooses that algorithm.
///
/// # Errors
/// `ENOENT` for one that the kernel does not have; `EPERM` for one that is not in
/// `tcp_allowed_congestion_control`, without `CAP_NET_ADMIN`.
pub fn set_congestion_control(socket: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    let mut padded = [0; ALGORITHM_BYTES];
    let fits = name.len() < ALGORITHM_BYTES;
    let to = padded.get_mut(..name.len()).filter(|_| fits);
    to.ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))?
        .copy_from_slice(name.as_bytes());
    set_option(socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, &padded)
}

/// The payload of a full segment that a connection sends, bytes (`TCP_MAXSEG`): the MTU without
/// the headers and the options that both ends agreed on.
///
/// # Errors
/// None are known for a TCP socket.
pub fn segment_bytes(socket: BorrowedFd<'_>) -> io::Result<u32> {
    let bytes: libc::c_int = option(socket, libc::IPPROTO_TCP, libc::TCP_MAXSEG, 0)?;
    u32::try_from(bytes).map_err(io::Error::other)
}

/// How much the other end may send before it hears from us again, bytes: the receive window at the
/// start of a connection (`tcpi_rcv_ssthresh` of `TCP_INFO`).
///
/// # Errors
/// None are known for a TCP socket.
pub fn receive_window_bytes(socket: BorrowedFd<'_>) -> io::Result<u32> {
    // SAFETY: an all-zero tcp_info is valid: it holds numbers alone.
    let nothing: libc::tcp_info = unsafe { std::mem::zeroed() };
    let info = option(socket, libc::IPPROTO_TCP, libc::TCP_INFO, nothing)?;
    Ok(info.tcpi_rcv_ssthresh)
}

/// Receives what is there; `None` when nothing is. `Some(0)` means that the peer has closed.
///
/// # Errors
/// `ECONNRESET` when the peer reset the connection.
#[inline]
pub fn receive(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    // SAFETY: the buffer is writable for its length, which is passed along.
    let received = check_size(unsafe {
        libc::recv(
            socket.as_raw_fd(),
            buffer.as_mut_ptr().cast(),
            buffer.len(),
            0,
        )
    });
    or_later(received)
}

/// Sends as much as there is room for; `None` when there is none.
///
/// # Errors
/// `EPIPE` or `ECONNRESET` when the peer is gone; never a signal.
#[inline]
pub fn send(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<Option<usize>> {
    send_with(socket, bytes, libc::MSG_NOSIGNAL)
}

/// As [`send`], for bytes that are followed at once by others: the kernel waits for those to fill
/// the last segment.
///
/// # Errors
/// Those of [`send`].
pub fn send_before_more(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<Option<usize>> {
    send_with(socket, bytes, libc::MSG_NOSIGNAL | libc::MSG_MORE)
}

#[inline]
pub(crate) fn send_with(
    socket: BorrowedFd<'_>,
    bytes: &[u8],
    flags: libc::c_int,
) -> io::Result<Option<usize>> {
    // SAFETY: the bytes are readable for their length, which is passed along.
    let sent = check_size(unsafe {
        libc::send(
            socket.as_raw_fd(),
            bytes.as_ptr().cast(),
            bytes.len(),
            flags,
        )
    });
    or_later(sent)
}

/// Sends at most so many bytes of a file from an offset on, straight from the page cache; `None`
/// when there is no room, `Some(0)` at the end of the file. The file's own position stays.
///
/// # Errors
/// `EPIPE` or `ECONNRESET` when the peer is gone, `EIO` when the file cannot be read. For a peer
/// that is gone the kernel also sends `SIGPIPE`, which Rust's runtime has ignored from the start.
pub fn send_file(
    socket: BorrowedFd<'_>,
    file: BorrowedFd<'_>,
    offset: u64,
    most_bytes: usize,
) -> io::Result<Option<usize>> {
    let mut offset = libc::off_t::try_from(offset).map_err(io::Error::other)?;
    // SAFETY: both descriptors are open, and the offset is writable and outlives the call.
    let sent = check_size(unsafe {
        libc::sendfile(
            socket.as_raw_fd(),
            file.as_raw_fd(),
            &raw mut offset,
            most_bytes,
        )
    });
    or_later(sent)
}

/// A socket to ask the kernel about network devices through.
pub(crate) fn control() -> io::Result<OwnedFd> {
    open(libc::AF_INET, libc::SOCK_DGRAM, 0)
}

fn open_stream(address: SocketAddr) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() {
        libc::AF_INET
    } else {
        libc::AF_INET6
    };
    open(family, libc::SOCK_STREAM | libc::SOCK_NONBLOCK, 0)
}

pub(crate) fn open(
    family: libc::c_int,
    kind: libc::c_int,
    protocol: libc::c_int,
) -> io::Result<OwnedFd> {
    // SAFETY: no pointers.
    unsafe { opened(libc::socket(family, kind | libc::SOCK_CLOEXEC, protocol)) }
}

fn set_flag(
    socket: &OwnedFd,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    use std::os::fd::AsFd as _;
    set_option(socket.as_fd(), level, name, &value)
}

pub(crate) fn set_option<T: ?Sized>(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    value: &T,
) -> io::Result<()> {
    let length = libc::socklen_t::try_from(size_of_val(value)).map_err(io::Error::other)?;
    // SAFETY: `value` is readable for `length` bytes, its own size.
    check(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            std::ptr::from_ref(value).cast(),
            length,
        )
    })?;
    Ok(())
}

/// Reads an option over `value`, of whose bits any are valid.
pub(crate) fn option<T: Copy>(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    mut value: T,
) -> io::Result<T> {
    let mut length = libc::socklen_t::try_from(size_of::<T>()).map_err(io::Error::other)?;
    // SAFETY: `value` is writable for `length` bytes, its own size; the callers' types are numbers
    // and bytes, for which any bits are valid.
    check(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw mut value).cast(),
            &raw mut length,
        )
    })?;
    Ok(value)
}

pub(crate) fn or_later(outcome: io::Result<usize>) -> io::Result<Option<usize>> {
    match outcome {
        Ok(count) => Ok(Some(count)),
        Err(error) if is_later(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_later(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

/// The kernel's form of an address, in room enough for either family.
fn raw_address(address: SocketAddr) -> (libc::sockaddr_storage, libc::socklen_t) {
    // SAFETY: all-zero is a valid sockaddr_storage.
    let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    let length = match address {
        SocketAddr::V4(v4) => {
            let raw = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr {
                    s_addr: u32::from_ne_bytes(v4.ip().octets()),
                },
                sin_zero: [0; 8],
            };
            // SAFETY: sockaddr_storage is larger than, and aligned for, every socket address.
            unsafe { (&raw mut storage).cast::<libc::sockaddr_in>().write(raw) };
            size_of::<libc::sockaddr_in>()
        }
        SocketAddr::V6(v6) => {
            let raw = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr {
                    s6_addr: v6.ip().octets(),
                },
                sin6_scope_id: v6.scope_id(),
            };
            // SAFETY: sockaddr_storage is larger than, and aligned for, every socket address.
            unsafe { (&raw mut storage).cast::<libc::sockaddr_in6>().write(raw) };
            size_of::<libc::sockaddr_in6>()
        }
    };
    (storage, libc::socklen_t::try_from(length).unwrap_or(0))
}
