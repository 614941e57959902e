//! One connection: bytes of the server in, bytes for it out, streams in between.

use std::cell::RefCell;
use std::future::Future as _;
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::{Buf as _, Bytes};
use h2::client::{self, SendRequest};

use crate::pipe::{Buffers, Pipe};
use crate::woken::Alarm;
use crate::{Failure, Request, Stream};

/// What a server may send of one answer before we have looked at it, and of all answers of a
/// connection: enough that neither is what holds a server up.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 1 << 24;
/// Streams that we reset are remembered, so that what the server had sent by then is no error.
const RESET_STREAMS: usize = 1024;
/// Fields of an answer's head, as of one over HTTP/1: h2 would keep 16 MiB of each connection.
const HEAD_BYTES: u32 = 64 << 10;
/// h2 wants to be polled again after some polls, and settles soon.
const POLLS_AT_ONCE: usize = 16;

/// A client's connection, which somebody else carries the bytes of.
pub struct Connection {
    inner: client::Connection<Pipe, Bytes>,
    requests: SendRequest<Bytes>,
    buffers: Rc<RefCell<Buffers>>,
    alarm: Arc<Alarm>,
    waker: Waker,
    /// Why it is over, if it is.
    end: Option<Failure>,
}

impl Connection {
    /// Has the preface ready to be sent.
    ///
    /// # Errors
    /// None are known: it is made in memory.
    pub fn new() -> io::Result<Self> {
        let buffers = Rc::default();
        let alarm = Arc::<Alarm>::default();
        let waker = Waker::from(Arc::clone(&alarm));
        let made = pin!(builder().handshake(Pipe(Rc::clone(&buffers))))
            .poll(&mut Context::from_waker(&waker));
        let (requests, inner) = match made {
            Poll::Ready(made) => made.map_err(io::Error::other)?,
            Poll::Pending => return Err(io::ErrorKind::WouldBlock.into()),
        };
        let mut connection = Self {
            inner,
            requests,
            buffers,
            alarm,
            waker,
            end: None,
        };
        connection.drive();
        Ok(connection)
    }

    /// Takes bytes of the server.
    pub fn take(&mut self, bytes: &[u8]) {
        self.buffers.borrow_mut().input.extend_from_slice(bytes);
        self.drive();
    }

    /// Whether it takes no more before some of what is to be sent has left: a server that has us answer, and
    /// does not read, is not heard on.
    pub fn is_held_back(&self) -> bool {
        !self.buffers.borrow().input.is_empty()
    }

    /// The server will send no more.
    pub fn take_end(&mut self) {
        self.buffers.borrow_mut().has_ended = true;
        self.drive();
    }

    /// Lets `send` have what is to be sent, until it takes nothing more; true when all has left.
    ///
    /// # Errors
    /// Those of `send`.
    pub fn pass_on(
        &mut self,
        mut send: impl FnMut(&[u8]) -> io::Result<usize>,
    ) -> io::Result<bool> {
        self.drive();
        loop {
            let mut buffers = self.buffers.borrow_mut();
            if buffers.output.is_empty() {
                return Ok(true);
            }
            match send(&buffers.output)? {
                0 => return Ok(false),
                count => buffers.output.advance(count),
            }
            if std::mem::take(&mut buffers.is_held_back) {
                drop(buffers);
                self.drive();
            }
        }
    }

    /// Sends a request on a stream of its own, of whose news the waker is told.
    ///
    /// # Errors
    /// When the connection takes no more requests.
    pub fn begin(&mut self, request: &Request, waker: &Waker) -> Result<Stream, Failure> {
        let context = &mut Context::from_waker(&self.waker);
        if self.requests.poll_ready(context)?.is_pending() {
            // The stream before waits to be opened, which the connection does when it is polled.
            self.drive();
        }
        let body = request.body();
        let (answer, mut sending) = self
            .requests
            .send_request(request.head(), body.is_empty())?;
        let sending = if body.is_empty() {
            None
        } else {
            sending.send_data(body.clone(), true)?;
            Some(sending)
        };
        let mut stream = Stream::new(answer, sending, waker.clone());
        // Nothing can have come; but only who was polled is woken.
        let early = stream.poll();
        debug_assert!(
            !matches!(early, Some(Ok(_))),
            "an answer before its request"
        );
        early.map_or(Ok(()), |early| early.map(drop))?;
        Ok(stream)
    }

    /// Streams that the server takes at once; 0 until it has said so.
    pub fn streams_at_once(&self) -> usize {
        self.requests.current_max_send_streams()
    }

    /// Why it takes no more requests, if that is so: streams that were begun may still end well
    /// where it is [`Failure::Unprocessed`], unless [`Self::is_over`].
    pub fn refusal(&mut self) -> Option<Failure> {
        let context = &mut Context::from_waker(&self.waker);
        let ready = self.requests.poll_ready(context);
        match (ready, self.end) {
            (_, Some(end)) => Some(end),
            (Poll::Ready(Err(error)), None) => Some(error.into()),
            _ => None,
        }
    }

    /// Whether it is of no more use to anybody.
    pub fn is_over(&self) -> bool {
        self.end.is_some()
    }

    /// Lets h2 do what it can: read frames, wake streams, write frames.
    fn drive(&mut self) {
        for _ in 0..POLLS_AT_ONCE {
            if self.end.is_some() {
                return;
            }
            self.alarm.take();
            let context = &mut Context::from_waker(&self.waker);
            match Pin::new(&mut self.inner).poll(context) {
                Poll::Ready(Ok(())) => self.end = Some(Failure::Closed),
                Poll::Ready(Err(error)) => self.end = Some(error.into()),
                Poll::Pending if self.alarm.take() => {}
                Poll::Pending => return,
            }
        }
    }
}

fn builder() -> client::Builder {
    let mut builder = client::Builder::new();
    builder
        .enable_push(false)
        .initial_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_concurrent_reset_streams(RESET_STREAMS)
        // Nor is one that sends small pieces: whoever carries the bytes lets streams be polled between turns.
        .data_frame_budget(usize::MAX >> 1)
        .max_header_list_size(HEAD_BYTES)
        // A server that gets many answers wrong is measured, not left.
        .max_local_error_reset_streams(None)
        // None before its settings have come, which say how many.
        .initial_max_send_streams(0);
    builder
}
