//! Connections over loopback, for the probes that send to and fro.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use machine::probes::handoff::ByteEnd;

/// A datagram that is lost is not waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// The two ends of one by TCP, without Nagle's delay.
///
/// # Errors
/// The kernel's own, as where loopback is down.
pub fn ends() -> io::Result<[ByteEnd; 2]> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let near = TcpStream::connect(listener.local_addr()?)?;
    let (far, _) = listener.accept()?;
    let end = |stream: TcpStream| -> io::Result<ByteEnd> {
        stream.set_nodelay(true)?;
        Ok(ByteEnd {
            reads: Box::new(stream.try_clone()?),
            writes: Box::new(stream),
        })
    };
    Ok([end(near)?, end(far)?])
}

/// A socket of UDP, and the one that it sends to.
///
/// # Errors
/// Likewise.
pub fn datagrams() -> io::Result<[UdpSocket; 2]> {
    let bound = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
    let (near, far) = (bound()?, bound()?);
    near.connect(far.local_addr()?)?;
    far.connect(near.local_addr()?)?;
    far.set_read_timeout(Some(PATIENCE))?;
    Ok([near, far])
}
