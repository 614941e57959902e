//! A connection with blocking calls and a deadline, in the clear or over TLS.

use std::io;
use std::net::TcpStream;
use std::os::fd::AsFd as _;
use std::time::Duration;

use sys::{clock, socket};

use crate::tls::{Agreed, Buffers, Client, ClientEnd, Handshake, TlsFailure};

/// Size of the receive buffer in the clear.
const BUFFER_BYTES: usize = 64 * 1024;

/// A connection whose calls fail with `TimedOut` after the deadline.
pub(super) struct Line {
    stream: TcpStream,
    deadline_ns: u64,
    carried: Carried,
}

enum Carried {
    Clear(Vec<u8>),
    Secured(Box<(ClientEnd, Buffers)>),
}

impl Line {
    /// Takes over a connected stream, and does the handshake if `tls` is given.
    ///
    /// # Errors
    /// Why TLS failed; in the clear only errors of the socket.
    pub(super) fn open(
        stream: TcpStream,
        tls: Option<&Client>,
        deadline_ns: u64,
    ) -> Result<Self, TlsFailure> {
        let carried = match tls {
            None => Carried::Clear(vec![0; BUFFER_BYTES]),
            Some(client) => {
                let mut end = ClientEnd::new(client)?;
                let mut buffers = Buffers::default();
                loop {
                    set_patience(&stream, deadline_ns)?;
                    if end.shake_hands(&mut buffers, stream.as_fd())? == Handshake::Done {
                        break Carried::Secured(Box::new((end, buffers)));
                    }
                }
            }
        };
        Ok(Self {
            stream,
            deadline_ns,
            carried,
        })
    }

    pub(super) fn agreed(&self) -> Option<Agreed> {
        match &self.carried {
            Carried::Clear(_) => None,
            Carried::Secured(secured) => secured.0.agreed(),
        }
    }

    /// Returns content that came before anything was sent.
    pub(super) fn take_early(&mut self) -> Vec<u8> {
        match &mut self.carried {
            Carried::Clear(_) => Vec::new(),
            Carried::Secured(secured) => secured.0.take_early(),
        }
    }

    pub(super) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut taken = 0;
        loop {
            set_patience(&self.stream, self.deadline_ns)?;
            let (socket, rest) = (self.stream.as_fd(), &bytes[taken..]);
            let has_output = match &mut self.carried {
                Carried::Clear(_) => {
                    taken += socket::send(socket, rest)?.unwrap_or(0);
                    false
                }
                Carried::Secured(secured) => {
                    let (end, buffers) = &mut **secured;
                    taken += end.send(buffers, socket, rest)?;
                    end.has_output()
                }
            };
            if taken == bytes.len() && !has_output {
                return Ok(());
            }
        }
    }

    /// Receives the next piece; an empty one is the end.
    pub(super) fn receive(&mut self) -> io::Result<&[u8]> {
        let (stream, deadline_ns) = (&self.stream, self.deadline_ns);
        match &mut self.carried {
            Carried::Clear(buffer) => {
                let count = wait(stream, deadline_ns, || {
                    socket::receive(stream.as_fd(), buffer)
                })?;
                Ok(&buffer[..count])
            }
            Carried::Secured(secured) => {
                let (end, buffers) = &mut **secured;
                let count = wait(stream, deadline_ns, || {
                    let content = end.receive(buffers, stream.as_fd())?;
                    Ok(content.map(|content| content.bytes.len()))
                })?;
                Ok(buffers.content(count))
            }
        }
    }
}

/// Repeats the attempt until it returns something.
fn wait<T>(
    stream: &TcpStream,
    deadline_ns: u64,
    mut attempt: impl FnMut() -> io::Result<Option<T>>,
) -> io::Result<T> {
    loop {
        set_patience(stream, deadline_ns)?;
        if let Some(found) = attempt()? {
            return Ok(found);
        }
    }
}

/// Limits the next call to the time that is left until the deadline.
fn set_patience(stream: &TcpStream, deadline_ns: u64) -> io::Result<()> {
    let left_ns = deadline_ns.saturating_sub(clock::monotonic_ns());
    if left_ns == 0 {
        return Err(io::ErrorKind::TimedOut.into());
    }
    // The kernel counts in microseconds, and 0 means forever.
    let left = Duration::from_nanos(left_ns).max(Duration::from_micros(1));
    stream.set_read_timeout(Some(left))?;
    stream.set_write_timeout(Some(left))
}
