//! One request and its answer, without a loop: is the target ready, and how long are its bytes?

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use sys::clock;
use wire::response::{BodyMark, KnownHead, Malformed, Progress, Reply};

use super::http::HttpProtocol;

/// What one exchange with a target showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    pub status: u16,
    /// The request, whole.
    pub request_bytes: usize,
    /// The answer, whole: head, body and any chunk framing.
    pub response_bytes: u64,
    pub body: BodyMark,
}

/// Why a target gave no answer to a single request.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    #[error(
        "{address} accepts no connection: {source}; is the server running and listening there?"
    )]
    Connect {
        address: SocketAddr,
        source: io::Error,
    },
    #[error("{address} closed the connection or fell silent before its answer was whole: {source}")]
    Exchange {
        address: SocketAddr,
        source: io::Error,
    },
    #[error("{address} answered with something that is not HTTP/1: {reason:?}")]
    Malformed {
        address: SocketAddr,
        reason: Malformed,
    },
}

/// Sends one request on a connection of its own and reads the answer, within `timeout_ns`.
///
/// # Errors
/// [`ProbeError`] when there is no whole answer; one with an error status is an answer.
pub fn probe(
    address: SocketAddr,
    protocol: &HttpProtocol,
    timeout_ns: u64,
) -> Result<Probe, ProbeError> {
    let timeout = Duration::from_nanos(timeout_ns.max(1));
    let connected = TcpStream::connect_timeout(&address, timeout);
    let stream = connected.map_err(|source| ProbeError::Connect { address, source })?;
    let reply = exchange(stream, protocol, clock::monotonic_ns() + timeout_ns);
    let reply = reply.map_err(|failure| match failure {
        Failure::Io(source) => ProbeError::Exchange { address, source },
        Failure::Malformed(reason) => ProbeError::Malformed { address, reason },
    })?;
    Ok(Probe {
        status: reply.status,
        request_bytes: protocol.request_bytes(),
        response_bytes: reply.wire_bytes,
        body: reply.mark.unwrap_or(BodyMark {
            bytes: reply.body_bytes,
            hash: 0,
        }),
    })
}

enum Failure {
    Io(io::Error),
    Malformed(Malformed),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

fn exchange(
    mut stream: TcpStream,
    protocol: &HttpProtocol,
    deadline_ns: u64,
) -> Result<Reply, Failure> {
    stream.set_nodelay(true)?;
    set_patience(&stream, deadline_ns)?;
    stream.write_all(protocol.bytes())?;
    let mut reader = protocol.reader();
    reader.begin(true);
    let mut known = KnownHead::default();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        set_patience(&stream, deadline_ns)?;
        let received = stream.read(&mut buffer)?;
        if received == 0 {
            let cut_short = |_| Failure::Io(io::ErrorKind::UnexpectedEof.into());
            return reader.read_end().map_err(cut_short);
        }
        match reader
            .read(&mut known, &buffer[..received])
            .map_err(Failure::Malformed)?
        {
            Progress::More => {}
            Progress::Whole { reply, .. } => return Ok(reply),
        }
    }
}

/// What is left until the deadline is all that the next call may take.
fn set_patience(stream: &TcpStream, deadline_ns: u64) -> io::Result<()> {
    let left_ns = deadline_ns.saturating_sub(clock::monotonic_ns());
    if left_ns == 0 {
        return Err(io::ErrorKind::TimedOut.into());
    }
    stream.set_read_timeout(Some(Duration::from_nanos(left_ns)))?;
    stream.set_write_timeout(Some(Duration::from_nanos(left_ns)))
}
