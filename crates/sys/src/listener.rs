//! Options of a listening socket beyond its address. The connections that it accepts inherit most
//! of them. What was set is read back where the kernel reports it, since the kernel may accept a
//! value and hold another.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::TcpListener;
use std::os::fd::{BorrowedFd, RawFd};
use std::os::unix::net::UnixListener;

use rustix::net::{AddressFamily, SocketType, sockopt};

use crate::address::{Address, SocketPath};
use crate::descriptor;
use crate::socket::{option, set_option};

/// The kernel refused an option, or holds another value than was set.
#[derive(Debug)]
pub struct Refused {
    /// Name of the option, as the manual pages have it.
    pub option: &'static str,
    pub source: io::Error,
}

impl fmt::Display for Refused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.option, self.source)
    }
}

impl Error for Refused {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.source()
    }
}

/// From asm-generic/socket.h, of which libc has only a part.
const SO_PREFER_BUSY_POLL: libc::c_int = 69;
const SO_BUSY_POLL_BUDGET: libc::c_int = 70;

/// How long and how much a waiting thread first polls the device itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusyPoll {
    /// µs, at least 1.
    pub time_us: u32,
    /// Packets in one go, where polling takes precedence over interrupts; `None` where interrupts
    /// do.
    pub preferred_budget: Option<u16>,
}

/// Sets whether answers leave at once (`TCP_NODELAY`). Otherwise each answer waits for the one
/// before it to be acknowledged (Nagle).
///
/// # Errors
/// None are known.
pub fn set_no_delay(listener: BorrowedFd<'_>, is_on: bool) -> Result<(), Refused> {
    let place = SocketOption("TCP_NODELAY", libc::IPPROTO_TCP, libc::TCP_NODELAY);
    place.set(listener, libc::c_int::from(is_on))
}

/// Has connections accepted only once they have sent something, or after about `time_s`
/// (`TCP_DEFER_ACCEPT`): the kernel turns the time into a number of retransmissions.
///
/// # Errors
/// None are known.
pub fn defer_accept(listener: BorrowedFd<'_>, time_s: u32) -> Result<(), Refused> {
    let place = SocketOption(
        "TCP_DEFER_ACCEPT",
        libc::IPPROTO_TCP,
        libc::TCP_DEFER_ACCEPT,
    );
    let time_s = libc::c_int::try_from(time_s).unwrap_or(libc::c_int::MAX);
    place.write(listener, &time_s)?;
    match place.read(listener)? {
        0 => Err(place.holds(0, time_s)),
        _ => Ok(()),
    }
}

/// Has reads of the sockets poll the device (`SO_BUSY_POLL`). For waits see
/// [`crate::epoll::Epoll::poll_busily`].
///
/// # Errors
/// `EPERM` without `CAP_NET_ADMIN` where polling is preferred, or where more packets are asked for
/// than the kernel's 8; on older kernels for any time.
pub fn poll_busily(listener: BorrowedFd<'_>, wish: BusyPoll) -> Result<(), Refused> {
    let of_socket = |name, option| SocketOption(name, libc::SOL_SOCKET, option);
    let time_us = libc::c_int::try_from(wish.time_us).unwrap_or(libc::c_int::MAX);
    of_socket("SO_BUSY_POLL", libc::SO_BUSY_POLL).set(listener, time_us)?;
    let Some(budget) = wish.preferred_budget else {
        return Ok(());
    };
    of_socket("SO_PREFER_BUSY_POLL", SO_PREFER_BUSY_POLL).set(listener, 1)?;
    // This is the one option that the kernel does not report (`sk_getsockopt` in net/core/sock.c).
    let budget = libc::c_int::from(budget);
    of_socket("SO_BUSY_POLL_BUDGET", SO_BUSY_POLL_BUDGET).write(listener, &budget)
}

/// Sets the CPU for whose connections the kernel is to choose this listener, of those that share a
/// port: the CPU that received the connection (`SO_INCOMING_CPU`, since Linux 6.2). Where no
/// listener has that CPU, a hash decides.
///
/// # Errors
/// `ENOPROTOOPT` before Linux 4.4.
pub fn choose_by_name_of_cpu(listener: BorrowedFd<'_>, cpu: usize) -> Result<(), Refused> {
    let place = SocketOption("SO_INCOMING_CPU", libc::SOL_SOCKET, libc::SO_INCOMING_CPU);
    let cpu = libc::c_int::try_from(cpu).unwrap_or(libc::c_int::MAX);
    place.set(listener, cpu)
}

/// Lets each connection send at most `bytes_per_s`, spread over the time (`SO_MAX_PACING_RATE`).
///
/// # Errors
/// The kernel's refusal. Linux before 4.20 takes only 32 bits, which shows in the value it holds.
pub fn pace(listener: BorrowedFd<'_>, bytes_per_s: u64) -> Result<(), Refused> {
    let option = libc::SO_MAX_PACING_RATE;
    SocketOption("SO_MAX_PACING_RATE", libc::SOL_SOCKET, option).set(listener, bytes_per_s)
}

/// How many connections may wait to be accepted, after the kernel's limit. For a listener the
/// kernel reports this as `tcpi_sacked` (`tcp_get_info` in net/ipv4/tcp.c). For a Unix socket it
/// reports nothing, and the result is the most that is possible.
///
/// # Errors
/// None are known for a TCP socket; for another, that `net.core.somaxconn` cannot be read.
pub fn backlog(listener: BorrowedFd<'_>) -> io::Result<u32> {
    // SAFETY: an all-zero tcp_info is valid: it holds numbers alone.
    let nothing: libc::tcp_info = unsafe { std::mem::zeroed() };
    match option(listener, libc::IPPROTO_TCP, libc::TCP_INFO, nothing) {
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => longest_backlog(),
        info => Ok(info?.tcpi_sacked),
    }
}

fn longest_backlog() -> io::Result<u32> {
    let text = std::fs::read_to_string("/proc/sys/net/core/somaxconn")?;
    text.trim().parse().map_err(io::Error::other)
}

/// The first descriptor that a service manager hands over (sd_listen_fds(3)).
const FIRST_HANDED_OVER: RawFd = 3;

/// Takes over the socket that a service manager has opened for this program, and returns it with
/// its address. To be called once.
///
/// # Errors
/// `EBADF` or `ENOTSOCK` where there is none, `InvalidInput` for one that does not listen for
/// streams, over TCP or at a path.
pub fn handed_over() -> io::Result<(TcpListener, Address)> {
    let socket = descriptor::adopt(FIRST_HANDED_OVER)?;
    let is_of_streams = sockopt::socket_type(&socket)? == SocketType::STREAM;
    if !is_of_streams || !sockopt::socket_acceptconn(&socket)? {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let address = match sockopt::socket_domain(&socket)? {
        AddressFamily::UNIX => {
            let named = UnixListener::from(socket.try_clone()?).local_addr()?;
            let path = named.as_pathname().ok_or(io::ErrorKind::InvalidInput)?;
            let path = SocketPath::new(path.to_owned());
            Address::Unix(path.map_err(|_| io::ErrorKind::InvalidInput)?)
        }
        _ => TcpListener::from(socket.try_clone()?).local_addr()?.into(),
    };
    let listener = TcpListener::from(socket);
    listener.set_nonblocking(true)?;
    Ok((listener, address))
}

/// The value of an option. The kernel reads it by its length.
trait Number: Copy + Default + PartialEq + fmt::Display {}

impl Number for libc::c_int {}
impl Number for u64 {}

/// An option by its name, level and number.
#[derive(Clone, Copy)]
pub(crate) struct SocketOption(
    pub(crate) &'static str,
    pub(crate) libc::c_int,
    pub(crate) libc::c_int,
);

impl SocketOption {
    fn set<T: Number>(self, socket: BorrowedFd<'_>, value: T) -> Result<(), Refused> {
        self.write(socket, &value)?;
        match self.read(socket)? {
            held if held == value => Ok(()),
            held => Err(self.holds(held, value)),
        }
    }

    /// Sets the option, without reading back what the socket then holds.
    pub(crate) fn write<T: ?Sized>(self, socket: BorrowedFd<'_>, value: &T) -> Result<(), Refused> {
        let Self(_, level, number) = self;
        let written = set_option(socket, level, number, value);
        written.map_err(|error| self.refused(error))
    }

    fn read<T: Number>(self, socket: BorrowedFd<'_>) -> Result<T, Refused> {
        let Self(_, level, number) = self;
        option(socket, level, number, T::default()).map_err(|error| self.refused(error))
    }

    fn refused(self, source: io::Error) -> Refused {
        let Self(option, ..) = self;
        Refused { option, source }
    }

    fn holds<T: Number>(self, held: T, set: T) -> Refused {
        let what = format!("the socket holds {held} after {set} was set");
        self.refused(io::Error::other(what))
    }
}
