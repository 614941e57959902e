//! What carries the bytes of one worker: the sockets of its connections, by slot.
//!
//! There are four carriers, chosen at compile time. [`EpollCarrier`] waits for readiness and moves
//! the bytes itself, in the clear or by TLS; [`UringCarrier`] has them moved and waits for
//! completions. In [`StreamsCarrier`] a slot is a stream of HTTP/2, and in [`PipelinedCarrier`] a
//! place in the pipeline of HTTP/1.1: there many slots share a connection.

mod clear;
mod layer;
mod pipelined;
mod readiness;
mod rings;
mod secured;
mod streams;

use std::io;

use model::Pace;
use sys::address::Address;

use super::outcome::{ConnectionCounts, Handshakes};
use super::{Engine, LoadError, LoadPlan};
use crate::tls::Client;

pub(super) use clear::Clear;
pub(super) use pipelined::PipelinedCarrier;
pub(super) use readiness::EpollCarrier;
pub(super) use rings::UringCarrier;
pub(super) use secured::Secured;
pub(super) use streams::StreamsCarrier;

/// The longest time that a connection in the clear may take to open.
const CONNECT_PATIENCE_NS: u64 = 2_000_000_000;

/// The load that a carrier is made for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load<'a, R: ?Sized = [u8]> {
    /// Where connections go.
    pub(super) address: &'a Address,
    /// The request that [`Carrier::send`] sends each time, where it is always the same.
    pub(super) constant_request: Option<&'a R>,
    pub(super) connections: usize,
    /// Slots per connection: streams, or places in its pipeline.
    pub(super) streams: usize,
    pub(super) pace: Pace,
    /// Requests and answers may wait for others, to be moved together.
    pub(super) may_batch: bool,
    /// The peer for TLS, where the load uses TLS.
    pub(super) tls: Option<&'a Client>,
}

/// What happened to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// Something can be received: bytes, or the end. `is_last` when the peer has closed or there is
    /// more than one receive returns.
    Input { is_last: bool },
    /// The attempt to connect ended, or more of the request can be sent.
    Room,
    /// The request could not be sent.
    Failed,
}

/// Bytes received by one call.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceivedPiece<'a, I: ?Sized = [u8]> {
    pub(super) input: &'a I,
    /// There may be another piece to receive right now.
    pub(super) may_go_on: bool,
}

/// Sockets in slots, each of them empty, connecting or open.
pub(super) trait Carrier: Sized {
    /// What is sent as a request, and what is received of an answer.
    type Request: ?Sized;
    type Input: ?Sized;

    /// The longest time that a connection may take to open.
    const PATIENCE_NS: u64;

    /// Makes empty slots.
    fn new(load: &Load<'_, Self::Request>) -> io::Result<Self>;

    /// Starts to connect in an empty slot; news reports when that has ended.
    fn open(&mut self, slot: usize) -> io::Result<()>;

    /// Checks how the attempt to connect ended, and reports news of the connection from now on.
    /// Returns false while there is more to be done, which will bring further news.
    fn finish_opening(&mut self, slot: usize) -> io::Result<bool>;

    /// Empties a slot. A connection in it is reset, which leaves no TIME_WAIT that would use up
    /// local ports.
    fn close(&mut self, slot: usize);

    /// Waits for news; true when there is some.
    fn wait(&mut self, timeout_ns: u64) -> io::Result<bool>;

    /// The next piece of news of the last wait, of connections that still exist.
    fn next(&mut self) -> Option<(usize, News)>;

    /// Starts to send the request. Returns true when it has left, or will leave unless it fails.
    fn send(&mut self, slot: usize, request: &Self::Request) -> io::Result<bool>;

    /// Goes on sending that request after [`News::Room`].
    fn resume(&mut self, slot: usize, request: &Self::Request) -> io::Result<bool>;

    /// Receives the input that the last [`News::Input`] reported; `None` when nothing is there.
    fn receive(&mut self, slot: usize) -> io::Result<Option<ReceivedPiece<'_, Self::Input>>>;

    /// Asks for news again of input that was not received. Returns false where the carrier has
    /// already received all of it.
    fn look_again(&mut self, _slot: usize) -> bool {
        false
    }

    /// Called when the answer in a slot has ended, `unused_bytes` before the end of what was
    /// received last. Returns whether these bytes can belong to another answer.
    fn answered(&mut self, _slot: usize, unused_bytes: usize) -> bool {
        unused_bytes == 0
    }

    /// Whether the last [`News::Input`], on a connection without a request, concerns the carrier
    /// only.
    fn absorb(&mut self, _slot: usize) -> bool {
        false
    }

    /// The TLS handshakes so far, where there are any.
    fn handshakes(&self) -> Option<&Handshakes> {
        None
    }

    /// Counts of connections, where connections are not the same as slots.
    fn counts(&self) -> Option<ConnectionCounts> {
        None
    }
}

/// The engine to use for the one asked for. io_uring saves CPU only where it moves many answers
/// together: with latency recorded it measured no cheaper than epoll, and it would record sends
/// before they leave. A ring is given one message for good. TLS records differ each time, and so do
/// requests that are not `constant`.
pub(super) fn choose(plan: &LoadPlan, is_constant: bool) -> Result<Engine, LoadError> {
    match plan.engine {
        Engine::Uring if plan.tls.is_some() => Err(LoadError::NoUringUnderTls),
        Engine::Uring if !is_constant => Err(LoadError::NoUringForMix),
        Engine::Uring if plan.pipeline > 1 => Err(LoadError::NoUringForPipeline),
        Engine::Auto if plan.tls.is_some() || !is_constant => Ok(Engine::Epoll),
        Engine::Auto if plan.pipeline > 1 => Ok(Engine::Epoll),
        Engine::Auto if !plan.may_batch() => Ok(Engine::Epoll),
        Engine::Auto if sys::uring::Ring::new(&[], 1).is_err() => Ok(Engine::Epoll),
        Engine::Auto => Ok(Engine::Uring),
        Engine::Epoll => Ok(Engine::Epoll),
        Engine::Uring => match sys::uring::Ring::new(&[], 1) {
            Ok(_) => Ok(Engine::Uring),
            Err(error) => Err(LoadError::NoUring(error)),
        },
    }
}

/// The engine of a load of HTTP/2, whose connections always use epoll.
pub(super) fn choose_for_streams(plan: &LoadPlan) -> Result<Engine, LoadError> {
    match plan.engine {
        Engine::Uring => Err(LoadError::NoUringForHttp2),
        Engine::Auto | Engine::Epoll => Ok(Engine::Epoll),
    }
}
