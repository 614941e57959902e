//! One request and its answer, without a loop: is the target ready, and how long are its messages?

mod http2;
mod line;
mod stream;

use std::io;

use sys::address::Address;
use sys::clock;
use wire::response::{BodyMark, KnownHead, Malformed, Progress};

pub use self::http2::probe_http2;
use super::http::HttpProtocol;
use crate::tls::{Agreed, Client, TlsFailure};
use line::Line;

/// The result of one exchange with a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    pub status: u16,
    /// Length of the whole request.
    pub request_bytes: usize,
    /// Length of the whole answer: head, body and any chunk framing. For HTTP/2, everything that
    /// came for it, including other frames.
    pub response_bytes: u64,
    pub body: BodyMark,
    /// The header's value; `None` where the answer has none.
    pub content_type: Option<String>,
    /// What the TLS handshake agreed on; `None` in the clear.
    pub tls: Option<Agreed>,
    /// Streams that the server allows at once on a connection; `None` for HTTP/1, which has none.
    pub streams_at_once: Option<usize>,
}

/// The reasons why a target gave no answer to a single request.
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
    #[error("{address} {failure}")]
    Exchange {
        address: Address,
        failure: ExchangeFailure,
    },
}

/// The reasons why a connection gave no whole answer, worded to follow the address.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeFailure {
    #[error("closed the connection or fell silent before its answer was complete: {0}")]
    Io(#[from] io::Error),
    #[error("speaks HTTP/1 there and no HTTP/2 in the clear (h2c with prior knowledge)")]
    SpeaksHttp1,
    #[error("answered with something that is not HTTP/2")]
    NoHttp2,
    #[error("answered with {0}")]
    Malformed(Malformed),
}

impl From<::http2::Failure> for ExchangeFailure {
    fn from(failure: ::http2::Failure) -> Self {
        match failure {
            ::http2::Failure::Broken => Self::NoHttp2,
            other => Self::Io(io::Error::other(other)),
        }
    }
}

/// Sends one request on a connection of its own and reads the answer, within `timeout_ns`; over TLS
/// if `tls` is given.
///
/// # Errors
/// [`ProbeError`] when there is no whole answer; an answer with an error status counts as one.
pub fn probe(
    address: impl Into<Address>,
    tls: Option<&Client>,
    protocol: &HttpProtocol,
    timeout_ns: u64,
) -> Result<Probe, ProbeError> {
    over_line(&address.into(), tls, timeout_ns, |mut line| {
        ask(&mut line, protocol, &mut KnownHead::default(), |_| ())
    })
}

/// Like [`probe`], and also returns the head of the answer and at most `most_bytes` of the body.
///
/// # Errors
/// Those of [`probe`].
pub fn probe_whole(
    address: impl Into<Address>,
    protocol: &HttpProtocol,
    timeout_ns: u64,
    most_bytes: usize,
) -> Result<(Probe, KnownHead, Vec<u8>), ProbeError> {
    let (mut head, mut body) = (KnownHead::default(), Vec::new());
    let keep = |piece: &[u8]| {
        let room = most_bytes - body.len();
        body.extend_from_slice(&piece[..room.min(piece.len())]);
    };
    let probe = over_line(&address.into(), None, timeout_ns, |mut line| {
        ask(&mut line, protocol, &mut head, keep)
    })?;
    Ok((probe, head, body))
}

const CONTENT_TYPE: &str = "content-type";

/// Returns a header's value as text.
fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value).into_owned()
}

/// What the head of an answer says, for answers with long bodies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadProbe {
    pub status: u16,
    /// `None` where only the end of the body tells its length.
    pub body_bytes: Option<u64>,
    /// See [`Probe::tls`].
    pub tls: Option<Agreed>,
}

/// Like [`probe`], but closes the connection when the head has been read.
///
/// # Errors
/// Those of [`probe`].
pub fn probe_head(
    address: impl Into<Address>,
    tls: Option<&Client>,
    protocol: &HttpProtocol,
    timeout_ns: u64,
) -> Result<HeadProbe, ProbeError> {
    over_line(&address.into(), tls, timeout_ns, |mut line| {
        let (status, body_bytes) = head(&mut line, protocol)?;
        Ok(HeadProbe {
            status,
            body_bytes,
            tls: line.agreed(),
        })
    })
}

/// Opens a connection and runs `exchange` on it.
fn over_line<T>(
    address: &Address,
    tls: Option<&Client>,
    timeout_ns: u64,
    exchange: impl FnOnce(Line) -> Result<T, ExchangeFailure>,
) -> Result<T, ProbeError> {
    let deadline_ns = clock::monotonic_ns().saturating_add(timeout_ns);
    let at = || address.clone();
    let connected = stream::connect(address, timeout_ns);
    let stream = connected.map_err(|source| ProbeError::Connect {
        address: at(),
        source,
    })?;
    let line = Line::open(stream, tls, deadline_ns);
    let line = line.map_err(|source| ProbeError::Tls {
        address: at(),
        source,
    })?;
    exchange(line).map_err(|failure| ProbeError::Exchange {
        address: at(),
        failure,
    })
}

/// Returns the status and, as far as the head states it, the length of the body.
fn head(line: &mut Line, protocol: &HttpProtocol) -> Result<(u16, Option<u64>), ExchangeFailure> {
    line.send(protocol.bytes())?;
    let mut reader = protocol.reader();
    reader.begin(false);
    let mut known = KnownHead::default();
    loop {
        let piece = line.receive()?;
        if piece.is_empty() {
            return Err(ExchangeFailure::Io(io::ErrorKind::UnexpectedEof.into()));
        }
        let progress = reader.read(&mut known, piece);
        match progress.map_err(ExchangeFailure::Malformed)? {
            Progress::Whole { reply, .. } => return Ok((reply.status, Some(reply.body_bytes))),
            Progress::More => {}
        }
        if let Some(announced) = reader.announced() {
            return Ok(announced);
        }
    }
}

/// Sends the request and reads the answer. `known` holds the head of the answer afterwards.
fn ask(
    line: &mut Line,
    protocol: &HttpProtocol,
    known: &mut KnownHead,
    mut on_body: impl FnMut(&[u8]),
) -> Result<Probe, ExchangeFailure> {
    line.send(protocol.bytes())?;
    let mut reader = protocol.reader();
    reader.begin(true);
    let reply = loop {
        let piece = line.receive()?;
        if piece.is_empty() {
            let cut_short = |_| ExchangeFailure::Io(io::ErrorKind::UnexpectedEof.into());
            break reader.read_end().map_err(cut_short)?;
        }
        let progress = reader.read_handing_on(known, piece, &mut on_body);
        match progress.map_err(ExchangeFailure::Malformed)? {
            Progress::More => {}
            Progress::Whole { reply, .. } => break reply,
        }
    };
    Ok(Probe {
        status: reply.status,
        request_bytes: protocol.request_bytes(),
        response_bytes: reply.wire_bytes,
        body: reply.mark.unwrap_or(BodyMark {
            bytes: reply.body_bytes,
            hash: 0,
        }),
        content_type: known.values(CONTENT_TYPE).next().map(text),
        tls: line.agreed(),
        streams_at_once: None,
    })
}
