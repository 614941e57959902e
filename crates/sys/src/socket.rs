//! TCP sockets: listen, connect, move bytes; all non-blocking and closed on exec.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::fs;
use rustix::io::Errno;
use rustix::net::{
    self, AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt,
};

use crate::check;
use crate::classic_bpf::{self, FilterInstruction};

/// Flags of a socket that neither waits nor is inherited.
pub(crate) const APART: SocketFlags = SocketFlags::CLOEXEC.union(SocketFlags::NONBLOCK);

/// How a listener is set up.
#[derive(Clone, Copy, Debug)]
pub struct ListenOptions {
    /// Several listeners may share the port, one per worker (`SO_REUSEPORT`).
    pub shared_port: bool,
    /// Number of connections that may wait to be accepted; the kernel cuts it to `somaxconn`.
    pub backlog: i32,
}

/// Opens a listening socket.
///
/// # Errors
/// `EADDRINUSE` when the port is taken, `EACCES` below port 1024 without privilege.
pub fn listen(address: SocketAddr, options: ListenOptions) -> io::Result<TcpListener> {
    let socket = open_stream(address)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    sockopt::set_socket_reuseport(&socket, options.shared_port)?;
    // Accepted sockets inherit this: an answer leaves at once instead of waiting for an ACK.
    sockopt::set_tcp_nodelay(&socket, true)?;
    net::bind(&socket, &address)?;
    net::listen(&socket, options.backlog)?;
    Ok(TcpListener::from(socket))
}

/// Has the kernel give a new connection to the listener whose index in the shared port's group is
/// the number of the CPU that received it. The index is the order in which listen(2) was called, so
/// open the listeners in the order of their CPUs first.
///
/// # Errors
/// `EPERM` or `ENOPROTOOPT` on kernels without it.
pub fn choose_listener_by_cpu(listener: BorrowedFd<'_>) -> io::Result<()> {
    // The number of the receiving CPU: SKF_AD_OFF and SKF_AD_CPU of linux/filter.h.
    const AD_OFF_PLUS_CPU: u32 = 0xffff_f000 + 36;
    let program = [
        FilterInstruction::load(AD_OFF_PLUS_CPU),
        FilterInstruction::returns_loaded(),
    ];
    classic_bpf::attach(listener, libc::SO_ATTACH_REUSEPORT_CBPF, &program)
}

/// Accepts one waiting connection; `None` when none waits.
///
/// # Errors
/// `EMFILE` or `ENFILE` at the limit of open files.
pub fn accept(listener: BorrowedFd<'_>) -> io::Result<Option<OwnedFd>> {
    match net::accept_with(listener, APART) {
        // A connection that was aborted while it waited counts as none (accept(2)).
        Err(Errno::CONNABORTED) => Ok(None),
        accepted => or_later(accepted.map_err(io::Error::from)),
    }
}

/// Starts to connect without waiting. The socket becomes writable when the attempt is over; then
/// [`connect_outcome`] returns how it ended.
///
/// # Errors
/// `EADDRNOTAVAIL` when no local port is left, `ENETUNREACH` without a route.
pub fn connect(address: SocketAddr) -> io::Result<OwnedFd> {
    let socket = open_stream(address)?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    match net::connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(error) => Err(error.into()),
    }
}

/// Returns how a connection attempt ended.
///
/// # Errors
/// `ECONNREFUSED`, `ETIMEDOUT` and the others of connect(2).
pub fn connect_outcome(socket: BorrowedFd<'_>) -> io::Result<()> {
    Ok(sockopt::socket_error(socket)??)
}

/// Has the closing of the socket reset the connection, which leaves no TIME_WAIT behind: for a
/// client that opens thousands of connections to one address.
///
/// # Errors
/// None are known.
pub fn reset_on_close(socket: BorrowedFd<'_>) -> io::Result<()> {
    Ok(sockopt::set_socket_linger(socket, Some(Duration::ZERO))?)
}

/// The congestion control algorithm, which paces what a TCP socket sends, by the kernel's name; a
/// listener's is that of the connections it accepts.
///
/// # Errors
/// None are known for a TCP socket.
pub fn congestion_control(socket: BorrowedFd<'_>) -> io::Result<String> {
    Ok(sockopt::tcp_congestion(socket)?)
}

/// Chooses the congestion control algorithm.
///
/// # Errors
/// `ENOENT` for one that the kernel does not have; `EPERM` for one that is not in
/// `tcp_allowed_congestion_control`, without `CAP_NET_ADMIN`.
pub fn set_congestion_control(socket: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    /// The kernel truncates longer names (`TCP_CA_NAME_MAX`).
    const MOST_BYTES: usize = 15;
    if !(1..=MOST_BYTES).contains(&name.len()) {
        return Err(Errno::NOENT.into());
    }
    Ok(sockopt::set_tcp_congestion(socket, name)?)
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
    let received = net::recv(socket, buffer, RecvFlags::empty());
    or_later(received.map(|(count, _)| count).map_err(io::Error::from))
}

/// Sends as much as there is room for; `None` when there is none.
///
/// # Errors
/// `EPIPE` or `ECONNRESET` when the peer is gone; never a signal.
#[inline]
pub fn send(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<Option<usize>> {
    send_with(socket, bytes, SendFlags::NOSIGNAL)
}

/// As [`send`], for bytes that are followed at once by others: the kernel waits for those to fill
/// the last segment.
///
/// # Errors
/// Those of [`send`].
pub fn send_before_more(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<Option<usize>> {
    send_with(socket, bytes, SendFlags::NOSIGNAL | SendFlags::MORE)
}

#[inline]
fn send_with(socket: BorrowedFd<'_>, bytes: &[u8], flags: SendFlags) -> io::Result<Option<usize>> {
    or_later(net::send(socket, bytes, flags).map_err(io::Error::from))
}

/// Sends at most `most_bytes` of a file from an offset on, straight from the page cache; `None`
/// when there is no room, `Some(0)` at the end of the file. The file's own position does not
/// change.
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
    let mut offset = offset;
    let sent = fs::sendfile(socket, file, Some(&mut offset), most_bytes);
    or_later(sent.map_err(io::Error::from))
}

/// Opens a socket through which the kernel is asked about network devices.
pub(crate) fn control() -> io::Result<OwnedFd> {
    open(AddressFamily::INET, SocketType::DGRAM, None)
}

pub(crate) fn family(address: SocketAddr) -> AddressFamily {
    match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    }
}

fn open_stream(address: SocketAddr) -> io::Result<OwnedFd> {
    let family = family(address);
    Ok(net::socket_with(family, SocketType::STREAM, APART, None)?)
}

pub(crate) fn open(
    family: AddressFamily,
    kind: SocketType,
    protocol: Option<Protocol>,
) -> io::Result<OwnedFd> {
    Ok(net::socket_with(
        family,
        kind,
        SocketFlags::CLOEXEC,
        protocol,
    )?)
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

/// Reads an option over `value`, for whose type any bits must be valid.
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

/// Returns `None` for what cannot be done now but may be done later.
#[inline]
pub(crate) fn or_later<T>(outcome: io::Result<T>) -> io::Result<Option<T>> {
    use io::ErrorKind::{Interrupted, WouldBlock};
    match outcome {
        Ok(done) => Ok(Some(done)),
        Err(error) if matches!(error.kind(), WouldBlock | Interrupted) => Ok(None),
        Err(error) => Err(error),
    }
}
