//! One connection: bytes from the server go in, bytes for it come out, streams lie in between.

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

/// Flow-control windows: how much a server may send of one answer, and of all answers of a
/// connection, before we have read it. Both are so large that they never hold a server up.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 1 << 24;
/// How many streams that we reset are remembered, so that what the server had already sent on them
/// is no error.
const RESET_STREAMS: usize = 1024;
/// Most bytes of the fields of an answer's head, as over HTTP/1. By default h2 would store up to
/// 16 MiB for each connection.
const HEAD_BYTES: u32 = 64 << 10;
/// Most polls in a row: h2 asks to be polled again after some polls, and settles soon.
const POLLS_AT_ONCE: usize = 16;

/// A client's connection, whose bytes the caller carries.
pub struct Connection {
    inner: client::Connection<Pipe, Bytes>,
    requests: SendRequest<Bytes>,
    buffers: Rc<RefCell<Buffers>>,
    alarm: Arc<Alarm>,
    waker: Waker,
    /// Why the connection has ended, if it has.
    end: Option<Failure>,
}

impl Connection {
    /// Makes a connection whose preface is ready to be sent.
    ///
    /// # Errors
    /// None are known: the connection is made in memory.
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

    /// Accepts bytes received from the server.
    pub fn take(&mut self, bytes: &[u8]) {
        self.buffers.borrow_mut().input.extend_from_slice(bytes);
        self.drive();
    }

    /// Whether input waits until some output has left. From a server that makes us answer and does
    /// not read our answers, no more should be read.
    pub fn is_held_back(&self) -> bool {
        !self.buffers.borrow().input.is_empty()
    }

    /// Notes that the server will send no more.
    pub fn take_end(&mut self) {
        self.buffers.borrow_mut().has_ended = true;
        self.drive();
    }

    /// Gives the output to `send` until `send` takes nothing more; true when all of it has left.
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

    /// Sends a request on a stream of its own; its news wake the waker.
    ///
    /// # Errors
    /// When the connection takes no more requests.
    pub fn begin(&mut self, request: &Request, waker: &Waker) -> Result<Stream, Failure> {
        let context = &mut Context::from_waker(&self.waker);
        if self.requests.poll_ready(context)?.is_pending() {
            // The previous stream still waits to be opened; the connection opens it when polled.
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
        // No answer can have come yet; but a stream is woken only after it was polled.
        let early = stream.poll();
        debug_assert!(
            !matches!(early, Some(Ok(_))),
            "an answer before its request"
        );
        early.map_or(Ok(()), |early| early.map(drop))?;
        Ok(stream)
    }

    /// How many streams the server accepts at once; 0 until it has said so.
    pub fn streams_at_once(&self) -> usize {
        self.requests.current_max_send_streams()
    }

    /// Why the connection takes no more requests; `None` while it takes them. Streams already begun
    /// may still end well where it is [`Failure::Unprocessed`], unless [`Self::is_over`].
    pub fn refusal(&mut self) -> Option<Failure> {
        let context = &mut Context::from_waker(&self.waker);
        let ready = self.requests.poll_ready(context);
        match (ready, self.end) {
            (_, Some(end)) => Some(end),
            (Poll::Ready(Err(error)), None) => Some(error.into()),
            _ => None,
        }
    }

    /// Whether the connection itself has ended.
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
        // No limit in effect: a server may send small pieces, as the caller lets streams be polled
        // between turns.
        .data_frame_budget(usize::MAX >> 1)
        .max_header_list_size(HEAD_BYTES)
        // No limit: a server that gets many answers wrong is measured, not abandoned.
        .max_local_error_reset_streams(None)
        // No streams before the server's settings have arrived, which say how many it accepts.
        .initial_max_send_streams(0);
    builder
}
