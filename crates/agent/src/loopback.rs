//! A connection over loopback, for the probe that sends a byte to and fro.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use machine::probes::handoff::ByteEnd;

/// Its two ends, without Nagle's delay.
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
