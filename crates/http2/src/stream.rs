//! One request under way, and its answer.

use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::client::ResponseFuture;
use h2::{RecvStream, SendStream};
use http::HeaderMap;

use crate::Failure;

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Head {
        status: u16,
        headers: HeaderMap,
    },
    /// A piece of the body, in order.
    Data(Bytes),
    /// The answer is complete. Trailers are ignored.
    End,
}

/// One request and its answer. Dropping it before its end resets the stream.
#[derive(Debug)]
pub struct Stream {
    stage: Stage,
    waker: Waker,
    /// Held because dropping it would end the sending of the body.
    _sending: Option<SendStream<Bytes>>,
}

#[derive(Debug)]
enum Stage {
    Head(ResponseFuture),
    Body(RecvStream),
}

impl Stream {
    /// A stream for a request that was given to h2; once polled, it wakes the waker at any news.
    pub(crate) fn new(
        answer: ResponseFuture,
        sending: Option<SendStream<Bytes>>,
        waker: Waker,
    ) -> Self {
        Self {
            stage: Stage::Head(answer),
            waker,
            _sending: sending,
        }
    }

    /// Returns the next piece of the answer; `None` while there is none, until the waker is woken.
    pub fn poll(&mut self) -> Option<Result<Part, Failure>> {
        let context = &mut Context::from_waker(&self.waker);
        let polled = match &mut self.stage {
            Stage::Head(answer) => {
                let head = Pin::new(answer).poll(context);
                head.map_ok(|answer| {
                    let (head, body) = answer.into_parts();
                    self.stage = Stage::Body(body);
                    Part::Head {
                        status: head.status.as_u16(),
                        headers: head.headers,
                    }
                })
            }
            Stage::Body(body) => data(body, context),
        };
        match polled {
            Poll::Pending => None,
            Poll::Ready(part) => Some(part.map_err(Failure::from)),
        }
    }
}

/// Polls the body for its next piece, and lets the server send as many bytes again.
fn data(body: &mut RecvStream, context: &mut Context<'_>) -> Poll<Result<Part, h2::Error>> {
    body.poll_data(context).map(|data| {
        let Some(data) = data.transpose()? else {
            return Ok(Part::End);
        };
        body.flow_control().release_capacity(data.len())?;
        Ok(Part::Data(data))
    })
}
