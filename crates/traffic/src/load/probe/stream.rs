//! A connected socket that is waited for: of TCP, or of a path.

use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use sys::address::Address;
use sys::clock;

pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    /// Connects within so long.
    ///
    /// # Errors
    /// Those of [`Address::connect`], and `TimedOut`.
    pub(super) fn connect(address: &Address, timeout_ns: u64) -> io::Result<Self> {
        let timeout = Duration::from_nanos(timeout_ns.max(1));
        match address {
            Address::Tcp(address) => {
                let stream = TcpStream::connect_timeout(address, timeout)?;
                stream.set_nodelay(true)?;
                Ok(Self::Tcp(stream))
            }
            Address::Unix(_) => connect_to_path(address, timeout).map(Self::Unix),
        }
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
        }
    }

    /// Limits what each further call may take.
    pub(super) fn set_patience(&self, patience: Duration) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => {
                stream.set_read_timeout(Some(patience))?;
                stream.set_write_timeout(Some(patience))
            }
            Self::Unix(stream) => {
                stream.set_read_timeout(Some(patience))?;
                stream.set_write_timeout(Some(patience))
            }
        }
    }
}

/// Tries again while those who wait to be accepted are too many: connect(2) of such a socket is
/// over at once, and has no attempt under way that could be waited for.
fn connect_to_path(address: &Address, timeout: Duration) -> io::Result<UnixStream> {
    let mut outcome = Err(io::ErrorKind::TimedOut.into());
    clock::wait_until(timeout, || {
        outcome = address.connect();
        !matches!(&outcome, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    });
    let stream = UnixStream::from(outcome?);
    stream.set_nonblocking(false)?;
    Ok(stream)
}
