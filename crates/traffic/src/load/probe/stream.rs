//! A connected socket with blocking calls.

use std::io;
use std::net::TcpStream;
use std::time::Duration;

use sys::address::Address;
use sys::clock;

/// Connects within `timeout_ns`. Of `TcpStream`, only what Unix sockets support too is used.
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

/// Tries again while the queue of connections to accept is full: connect(2) of a Unix socket
/// returns at once, so there is no attempt under way to wait for.
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
