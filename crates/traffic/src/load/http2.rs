//! HTTP/2 as a protocol of the load loop: the same request on one stream after the other.

use http2::{Part, Request};
use wire::response::Marker;

use super::answers::{Answer, Answers, Seen};
use super::http::{RequestError, check_headers, check_request_line};
use crate::protocol::{Framing, Protocol, Received};

/// One HTTP/2 request, with the check of its answers.
#[derive(Debug)]
pub struct Http2Protocol {
    request: Request,
    answers: Answers,
}

impl Http2Protocol {
    /// Prepares a request. `scheme` is `http` or `https`; the other parameters are those of
    /// [`HttpProtocol::new`](super::http::HttpProtocol::new).
    ///
    /// # Errors
    /// [`RequestError`] for anything that HTTP/2 cannot express.
    pub fn new(
        scheme: &str,
        method: &str,
        (host, path): (&str, &str),
        headers: &[(String, String)],
        body: &[u8],
    ) -> Result<Self, RequestError> {
        check_request_line(method, host, path)?;
        check_headers(headers)?;
        Ok(Self {
            request: Request::new(scheme, method, (host, path), headers, body)?,
            answers: Answers::compared(),
        })
    }

    /// Switches the comparison of bodies off.
    pub fn compare_no_bodies(&mut self) {
        self.answers.compares_bodies = false;
    }
}

/// A part of an answer, and the number of bytes that came for it.
#[derive(Clone, Debug)]
pub struct Heard {
    pub(super) part: Part,
    /// Bytes of frames that belong to no stream count toward the part that follows them.
    pub(super) wire_bytes: usize,
}

impl Received for Heard {
    fn wire_bytes(&self) -> usize {
        self.wire_bytes
    }

    /// Always false: the end of a connection shows as a failure of its streams.
    fn is_end(&self) -> bool {
        false
    }
}

/// How far one stream has got within its answer.
#[derive(Debug, Default)]
pub struct Exchange {
    status: u16,
    body_bytes: u64,
    /// Present when a mark of the body is wanted.
    marker: Option<Marker>,
}

impl Exchange {
    pub(super) fn new(is_watched: bool) -> Self {
        Self {
            marker: is_watched.then(Marker::default),
            ..Self::default()
        }
    }

    /// Reads the next part; returns the answer when the part was its end.
    pub(super) fn take(&mut self, part: &Part) -> Option<Answer> {
        match part {
            Part::Head { status, .. } => self.status = *status,
            Part::Data(data) => {
                self.body_bytes += data.len() as u64;
                if let Some(marker) = &mut self.marker {
                    marker.add(data);
                }
            }
            Part::End => return Some(self.answer()),
        }
        None
    }

    fn answer(&self) -> Answer {
        let mark = |marker: &Marker| marker.mark(self.body_bytes);
        Answer {
            status: self.status,
            body_bytes: self.body_bytes,
            mark: self.marker.as_ref().map(mark),
        }
    }
}

/// What one thread remembers of HTTP/2 answers.
#[derive(Debug, Default)]
pub struct Http2Memory(Seen);

impl Protocol for Http2Protocol {
    type Request = Request;
    type Input = Heard;
    type Memory = Http2Memory;
    type Exchange = Exchange;

    fn memory(&self) -> Http2Memory {
        Http2Memory::default()
    }

    fn exchange(&self, _connection: u32) -> Exchange {
        Exchange::default()
    }

    fn begin(&self, memory: &mut Http2Memory, exchange: &mut Exchange) {
        *exchange = Exchange::new(self.answers.watches_next(&mut memory.0));
    }

    fn request<'a>(&'a self, _exchange: &'a Exchange) -> &'a Request {
        &self.request
    }

    fn constant_request(&self) -> Option<&Request> {
        Some(&self.request)
    }

    fn read(&self, memory: &mut Http2Memory, exchange: &mut Exchange, input: &Heard) -> Framing {
        match exchange.take(&input.part) {
            None => Framing::More,
            Some(answer) => Framing::Whole {
                used: input.wire_bytes,
                fate: self.answers.fate(&mut memory.0, answer),
                closes: false,
            },
        }
    }

    fn read_end(&self, _: &mut Http2Memory, _: &mut Exchange) -> Framing {
        Framing::CutShort
    }

    fn first_status(&self, memory: &Http2Memory) -> Option<u16> {
        self.answers.first_status(&memory.0)
    }
}
