//! One request and its answer, without a loop: is the target ready, and how long are its bytes?

mod http2;
mod line;
mod stream;

use std::io;

use sys::address::Address;
use sys::clock;
use wire::response::{BodyMark, KnownHead, Malformed, Progress, Reply};

pub use self::http2::{Http2Probe, probe_http2};
use super::http::HttpProtocol;
use crate::tls::{Agreed, Client, TlsFailure};
use line::Line;

/// What one exchange with a target showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    pub status: u16,
    /// The request, whole.
    pub request_bytes: usize,
    /// The answer, whole: head, body and any chunk framing.
    pub response_bytes: u64,
    pub body: BodyMark,
    /// As the head has it; `None` where it has none.
    pub content_type: Option<String>,
    /// What the handshake of TLS came to; `None` in the clear.
    pub tls: Option<Agreed>,
}

/// Why a target gave no answer to a single request.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    #[error(
        "{address} accepts no connection: {source}; is the server running and listening there?"
    )]
    Connect { address: Address, source: io::Error },
    #[error("{address}: {source}")]
    Tls {
        address: Address,
        source: TlsFailure,
    },
    #[error("{address} closed the connection or fell silent before its answer was whole: {source}")]
    Exchange { address: Address, source: io::Error },
    #[error("{address} speaks HTTP/1 there and no HTTP/2 in the clear (h2c with prior knowledge)")]
    SpeaksHttp1 { address: Address },
    #[error("{address} answered with something that is not HTTP/2")]
    NoHttp2 { address: Address },
    #[error("{address} answered with something that is not HTTP/1: {reason:?}")]
    Malformed { address: Address, reason: Malformed },
}

/// Sends one request on a connection of its own and reads the answer, within `timeout_ns`; by TLS
/// where it says with whom.
///
/// # Errors
/// [`ProbeError`] when there is no whole answer; one with an error status is an answer.
pub fn probe(
    address: impl Into<Address>,
    tls: Option<&Client>,
    protocol: &HttpProtocol,
    timeout_ns: u64,
) -> Result<Probe, ProbeError> {
    let asked = probe_handing_on(&address.into(), tls, protocol, timeout_ns, |_| ());
    asked.map(|(probe, _)| probe)
}

/// As [`probe`], with the head of the answer and, as far as its first `most_bytes`, the body.
///
/// # Errors
/// Those of [`probe`].
pub fn probe_whole(
    address: impl Into<Address>,
    protocol: &HttpProtocol,
    timeout_ns: u64,
    most_bytes: usize,
) -> Result<(Probe, KnownHead, Vec<u8>), ProbeError> {
    let mut body = Vec::new();
    let keep = |piece: &[u8]| {
        let room = most_bytes - body.len();
        body.extend_from_slice(&piece[..room.min(piece.len())]);
    };
    let (probe, head) = probe_handing_on(&address.into(), None, protocol, timeout_ns, keep)?;
    Ok((probe, head, body))
}

fn probe_handing_on(
    address: &Address,
    tls: Option<&Client>,
    protocol: &HttpProtocol,
    timeout_ns: u64,
    on_body: impl FnMut(&[u8]),
) -> Result<(Probe, KnownHead), ProbeError> {
    let mut line = connect(address, tls, timeout_ns)?;
    let mut known = KnownHead::default();
    let reply = exchange(&mut line, protocol, &mut known, on_body);
    let reply = reply.map_err(|failure| failure.at(address))?;
    let probe = Probe {
        status: reply.status,
        request_bytes: protocol.request_bytes(),
        response_bytes: reply.wire_bytes,
        body: reply.mark.unwrap_or(BodyMark {
            bytes: reply.body_bytes,
            hash: 0,
        }),
        content_type: known.values(CONTENT_TYPE).next().map(text),
        tls: line.agreed(),
    };
    Ok((probe, known))
}

const CONTENT_TYPE: &str = "content-type";

/// The value of a header.
fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value).into_owned()
}

/// What the head of an answer to a single request says, for those whose bodies are long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadProbe {
    pub status: u16,
    /// `None` where the length is known at the end of the body alone.
    pub body_bytes: Option<u64>,
    /// Those of [`Probe::tls`].
    pub tls: Option<Agreed>,
}

/// As [`probe`], and goes away when the head was read.
///
/// # Errors
/// Those of [`probe`].
pub fn probe_head(
    address: impl Into<Address>,
    tls: Option<&Client>,
    protocol: &HttpProtocol,
    timeout_ns: u64,
) -> Result<HeadProbe, ProbeError> {
    let address = &address.into();
    let mut line = connect(address, tls, timeout_ns)?;
    let head = head(&mut line, protocol).map_err(|failure| failure.at(address))?;
    Ok(HeadProbe {
        status: head.0,
        body_bytes: head.1,
        tls: line.agreed(),
    })
}

fn connect(address: &Address, tls: Option<&Client>, timeout_ns: u64) -> Result<Line, ProbeError> {
    let deadline_ns = clock::monotonic_ns().saturating_add(timeout_ns);
    let at = || address.clone();
    let connected = stream::connect(address, timeout_ns);
    let stream = connected.map_err(|source| ProbeError::Connect {
        address: at(),
        source,
    })?;
    let line = Line::open(stream, tls, deadline_ns);
    line.map_err(|source| ProbeError::Tls {
        address: at(),
        source,
    })
}

/// Why there was no answer.
enum Failure {
    Io(io::Error),
    Malformed(Malformed),
    /// To a request of HTTP/2.
    Http1,
    Http2(::http2::Failure),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<::http2::Failure> for Failure {
    fn from(failure: ::http2::Failure) -> Self {
        Self::Http2(failure)
    }
}

impl Failure {
    fn at(self, address: &Address) -> ProbeError {
        let address = address.clone();
        match self {
            Self::Io(source) => ProbeError::Exchange { address, source },
            Self::Malformed(reason) => ProbeError::Malformed { address, reason },
            Self::Http1 => ProbeError::SpeaksHttp1 { address },
            Self::Http2(::http2::Failure::Broken) => ProbeError::NoHttp2 { address },
            Self::Http2(failure) => ProbeError::Exchange {
                address,
                source: io::Error::other(failure),
            },
        }
    }
}

/// The status and the length of the body, as far as the head has it.
fn head(line: &mut Line, protocol: &HttpProtocol) -> Result<(u16, Option<u64>), Failure> {
    line.send(protocol.bytes())?;
    let mut reader = protocol.reader();
    reader.begin(false);
    let mut known = KnownHead::default();
    loop {
        let piece = line.receive()?;
        if piece.is_empty() {
            return Err(Failure::Io(io::ErrorKind::UnexpectedEof.into()));
        }
        match reader.read(&mut known, piece).map_err(Failure::Malformed)? {
            Progress::Whole { reply, .. } => return Ok((reply.status, Some(reply.body_bytes))),
            Progress::More => {}
        }
        if let Some(announced) = reader.announced() {
            return Ok(announced);
        }
    }
}

/// `known` has the head of the answer afterwards.
fn exchange(
    line: &mut Line,
    protocol: &HttpProtocol,
    known: &mut KnownHead,
    mut on_body: impl FnMut(&[u8]),
) -> Result<Reply, Failure> {
    line.send(protocol.bytes())?;
    let mut reader = protocol.reader();
    reader.begin(true);
    loop {
        let piece = line.receive()?;
        if piece.is_empty() {
            let cut_short = |_| Failure::Io(io::ErrorKind::UnexpectedEof.into());
            return reader.read_end().map_err(cut_short);
        }
        let progress = reader.read_handing_on(known, piece, &mut on_body);
        match progress.map_err(Failure::Malformed)? {
            Progress::More => {}
            Progress::Whole { reply, .. } => return Ok(reply),
        }
    }
}
