//! A connected socket that is waited for.

use std::io;
use std::net::TcpStream;
use std::time::Duration;

use sys::address::Address;
use sys::clock;

/// Connects within so long. Of the type nothing is used but what sockets of a path have too.
///
/// # Errors
/// Those of [`Address::connect`], and `TimedOut`.
pub(super) fn connect(address: &Address, timeout_ns: u64) -> io::Result<TcpStream> {
    let timeout = Duration::from_nanos(timeout_ns.max(1));
    match address {
        Address::Tcp(address) => {
            let stream = TcpStream::connect_timeout(address, timeout)?;
            stream.set_nodelay(true)?;
            Ok(stream)
        }
        Address::Unix(_) => connect_to_path(address, timeout),
    }
}

/// Tries again while those who wait to be accepted are too many: connect(2) of such a socket is
/// over at once, and has no attempt under way that could be waited for.
fn connect_to_path(address: &Address, timeout: Duration) -> io::Result<TcpStream> {
    let mut outcome = Err(io::ErrorKind::TimedOut.into());
    clock::wait_until(timeout, || {
        outcome = address.connect();
        !matches!(&outcome, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    });
    let stream = TcpStream::from(outcome?);
    stream.set_nonblocking(false)?;
    Ok(stream)
}
