//! The carrier that has the bytes moved by io_uring and waits for completions.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use model::Pace;
use sys::address::Address;
use sys::socket;
use sys::uring::{Completion, Patience, Ring, What};

use super::{CONNECT_PATIENCE_NS, Carrier, Load, News, ReceivedPiece};

/// Requests of a closed loop that are sent together. The time noted for the first is too early by
/// the time it takes to send the others, some 5 µs each; more at once would gain little.
const SENDS_AT_ONCE: usize = 8;
/// In throughput mode a wait is for the answers of this many of each four connections; the others
/// keep the server busy meanwhile.
const BATCH_QUARTERS: usize = 3;
/// After this time a wait ends with the answers that came, so that a few slow ones do not hold up
/// the rest.
const BATCH_PATIENCE_US: u32 = 200;

/// One ring and the sockets that it works on.
pub(in crate::load) struct UringCarrier {
    address: Address,
    ring: Ring,
    sockets: Vec<Option<OwnedFd>>,
    /// The input that the last news reported, until it is received.
    input: Input,
    sends_at_once: usize,
    answers_at_once: u32,
}

enum Input {
    None,
    Bytes,
    End,
    Failure(io::Error),
}

impl Carrier for UringCarrier {
    type Request = [u8];
    type Input = [u8];

    const PATIENCE_NS: u64 = CONNECT_PATIENCE_NS;

    fn new(load: &Load<'_>) -> io::Result<Self> {
        let (sends_at_once, answers_at_once) = match load.pace {
            Pace::Open { .. } => (1, 1),
            Pace::Closed if load.may_batch => (usize::MAX, load.connections * BATCH_QUARTERS / 4),
            Pace::Closed => (SENDS_AT_ONCE, 1),
        };
        Ok(Self {
            address: load.address.clone(),
            ring: Ring::new(load.constant_request.unwrap_or_default(), load.connections)?,
            sockets: (0..load.connections).map(|_| None).collect(),
            input: Input::None,
            sends_at_once,
            answers_at_once: u32::try_from(answers_at_once).unwrap_or(u32::MAX),
        })
    }

    fn open(&mut self, slot: usize) -> io::Result<()> {
        let socket = self.address.connect()?;
        self.ring.watch_connecting(slot, socket.as_fd())?;
        self.sockets[slot] = Some(socket);
        Ok(())
    }

    fn finish_opening(&mut self, slot: usize) -> io::Result<bool> {
        let Some(socket) = &self.sockets[slot] else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        socket::connect_outcome(socket.as_fd())?;
        self.ring.start_receiving(slot)?;
        Ok(true)
    }

    fn close(&mut self, slot: usize) {
        self.ring.let_go(slot);
        if let Some(socket) = self.sockets[slot].take() {
            let _ = socket::reset_on_close(socket.as_fd());
        }
    }

    #[inline]
    fn wait(&mut self, timeout_ns: u64) -> io::Result<bool> {
        self.ring.wait(Patience {
            timeout_ns,
            completions: self.answers_at_once,
            batch_us: BATCH_PATIENCE_US,
        })?;
        Ok(self.ring.untaken() > 0)
    }

    #[inline]
    fn next(&mut self) -> Option<(usize, News)> {
        let Completion { slot, what } = self.ring.take()?;
        let (input, news) = match what {
            What::Received { more_waits } => (
                Input::Bytes,
                News::Input {
                    is_last: more_waits,
                },
            ),
            What::End => (Input::End, News::Input { is_last: true }),
            What::ReceiveFailed(error) => (Input::Failure(error), News::Input { is_last: true }),
            What::Connected | What::Sent => (Input::None, News::Room),
            What::SendFailed => (Input::None, News::Failed),
        };
        self.input = input;
        Some((slot, news))
    }

    /// Queues the request, which the ring has had from the beginning.
    #[inline]
    fn send(&mut self, slot: usize, _request: &[u8]) -> io::Result<bool> {
        let is_whole = self.ring.send(slot)?;
        if self.ring.queued() >= self.sends_at_once {
            self.ring.submit()?;
        }
        Ok(is_whole)
    }

    /// Nothing to do: the ring reports room only when everything has been sent.
    fn resume(&mut self, _slot: usize, _request: &[u8]) -> io::Result<bool> {
        Ok(true)
    }

    #[inline]
    fn receive(&mut self, _slot: usize) -> io::Result<Option<ReceivedPiece<'_>>> {
        let bytes = match std::mem::replace(&mut self.input, Input::None) {
            Input::None => return Ok(None),
            Input::Bytes => self.ring.received(),
            Input::End => &[],
            Input::Failure(error) => return Err(error),
        };
        Ok(Some(ReceivedPiece {
            input: bytes,
            may_go_on: false,
        }))
    }
}
