//! A single HTTP/2 request and its answer, with blocking calls.

use std::io;
use std::task::Waker;

use http2::{Connection, Part};
use sys::address::Address;

use super::line::Line;
use super::{CONTENT_TYPE, ExchangeFailure, Probe, ProbeError, over_line, text};
use crate::load::answers::Answer;
use crate::load::http2::{Exchange, Http2Protocol};
use crate::protocol::Protocol as _;
use crate::tls::Client;
use wire::response::BodyMark;

/// First bytes of an answer of HTTP/1, from a server that cannot read an HTTP/2 request.
const HTTP1: &[u8] = b"HTTP/1.";

/// Like [`probe`](super::probe), over HTTP/2.
///
/// # Errors
/// Those of [`probe`](super::probe), and an error for a server that does not speak HTTP/2.
pub fn probe_http2(
    address: impl Into<Address>,
    tls: Option<&Client>,
    protocol: &Http2Protocol,
    timeout_ns: u64,
) -> Result<Probe, ProbeError> {
    over_line(&address.into(), tls, timeout_ns, |line| {
        let mut talk = Talk::begin(line)?;
        let (answer, content_type) = talk.ask(protocol)?;
        Ok(Probe {
            status: answer.status,
            request_bytes: talk.sent_bytes,
            response_bytes: talk.heard_bytes,
            body: answer.mark.unwrap_or(BodyMark {
                bytes: answer.body_bytes,
                hash: 0,
            }),
            content_type,
            tls: talk.line.agreed(),
            streams_at_once: Some(talk.connection.streams_at_once()),
        })
    })
}

/// A connection on which the server has sent its settings.
struct Talk {
    line: Line,
    connection: Connection,
    is_new: bool,
    sent_bytes: usize,
    heard_bytes: u64,
}

impl Talk {
    fn begin(mut line: Line) -> Result<Self, ExchangeFailure> {
        let mut connection = Connection::new()?;
        connection.take(&line.take_early());
        let mut talk = Self {
            line,
            connection,
            is_new: true,
            sent_bytes: 0,
            heard_bytes: 0,
        };
        talk.send()?;
        while talk.connection.streams_at_once() == 0 {
            talk.exchange()?;
        }
        // Bytes that set up the connection are no part of a request.
        talk.send()?;
        (talk.sent_bytes, talk.heard_bytes) = (0, 0);
        Ok(talk)
    }

    /// Sends a request and returns its answer and the content type.
    fn ask(
        &mut self,
        protocol: &Http2Protocol,
    ) -> Result<(Answer, Option<String>), ExchangeFailure> {
        let mut exchange = Exchange::new(true);
        let mut content_type = None;
        let request = protocol.request(&exchange);
        let mut stream = self.connection.begin(request, Waker::noop())?;
        loop {
            match stream.poll() {
                None => self.exchange()?,
                Some(part) => {
                    let part = part?;
                    if let Part::Head { headers, .. } = &part {
                        let value = headers.get(CONTENT_TYPE);
                        content_type = value.map(|value| text(value.as_bytes()));
                    }
                    if let Some(answer) = exchange.take(&part) {
                        return Ok((answer, content_type));
                    }
                }
            }
        }
    }

    /// Sends what is waiting, then receives the next piece.
    fn exchange(&mut self) -> Result<(), ExchangeFailure> {
        self.send()?;
        if let Some(refusal) = self
            .connection
            .refusal()
            .filter(|_| self.connection.is_over())
        {
            return Err(refusal.into());
        }
        let piece = self.line.receive()?;
        if std::mem::take(&mut self.is_new) && piece.starts_with(HTTP1) {
            return Err(ExchangeFailure::SpeaksHttp1);
        }
        self.heard_bytes += piece.len() as u64;
        match piece {
            [] => self.connection.take_end(),
            bytes => self.connection.take(bytes),
        }
        Ok(())
    }

    fn send(&mut self) -> io::Result<()> {
        self.connection.pass_on(|bytes| {
            self.line.send(bytes)?;
            self.sent_bytes += bytes.len();
            Ok(bytes.len())
        })?;
        Ok(())
    }
}
