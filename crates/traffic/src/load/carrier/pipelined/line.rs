//! One connection of a pipeline: the slots that await answers, the output, and the input.

use std::collections::VecDeque;
use std::io;

use super::ReceivedPiece;

/// Most bytes received from one connection before others have their turn: a millisecond or two of
/// work.
const TURN_BYTES: usize = 256 << 10;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    #[default]
    Down,
    Opening,
    Open,
    /// The server has announced that it answers no more on this connection.
    Leaving,
}

#[derive(Default)]
pub(super) struct Line {
    pub(super) state: State,
    pub(super) was_open: bool,
    /// Why the connection went down.
    failure: Option<io::Error>,
    /// Slots whose answers are awaited, in the order in which the answers come.
    pub(super) order: VecDeque<usize>,
    /// How many of their requests were sent, or are being sent.
    sent_requests: usize,
    /// `queue` holds requests that were not sent yet; `leaving` those that are being sent.
    queue: Vec<u8>,
    leaving: Vec<u8>,
    /// The bytes received last, and how many of them were looked at.
    input: Vec<u8>,
    seen_bytes: usize,
    /// There may be more to receive.
    may_go_on: bool,
    /// Bytes received in this turn.
    turn_bytes: usize,
    /// The connection accepts no more requests.
    is_broken: bool,
    /// The peer has closed, after what is still to be received.
    is_ending: bool,
}

impl Line {
    /// Adds a request. Returns true when no other request waited.
    pub(super) fn append(&mut self, slot: usize, request: &[u8]) -> bool {
        let is_first = self.queue.is_empty();
        self.order.push_back(slot);
        self.queue.extend_from_slice(request);
        is_first
    }

    /// What is to be sent now, and whether it is a new batch. `None` when nothing waits, or nothing
    /// can be sent.
    pub(super) fn output(&mut self) -> Option<(&[u8], bool)> {
        if self.is_broken || self.state != State::Open {
            return None;
        }
        let is_new = self.leaving.is_empty();
        if is_new {
            std::mem::swap(&mut self.leaving, &mut self.queue);
            self.sent_requests = self.order.len();
        }
        (!self.leaving.is_empty()).then_some((&self.leaving[..], is_new))
    }

    /// Notes that all of the output was sent.
    pub(super) fn note_sent(&mut self) {
        self.leaving.clear();
    }

    /// Stops sending, and has the bytes looked at that were received before.
    pub(super) fn break_off(&mut self) {
        self.is_broken = true;
        self.note_input(false);
    }

    /// Notes that something can be received. The end of a connection is not reported again.
    pub(super) fn note_input(&mut self, is_last: bool) {
        self.may_go_on = true;
        self.is_ending |= is_last;
    }

    /// Ends a turn. Returns whether that leaves something to be received.
    pub(super) fn end_turn(&mut self) -> bool {
        let is_cut = self.may_go_on && self.turn_bytes >= TURN_BYTES;
        self.may_go_on &= !is_cut;
        self.turn_bytes = 0;
        is_cut
    }

    /// Whether the connection is of no more use: it will answer nothing, or it speaks without being
    /// asked.
    pub(super) fn is_useless(&self) -> bool {
        let is_over = self.is_broken || self.is_ending || self.has_unseen();
        is_over && self.order.is_empty()
    }

    /// Lets other connections have their turn.
    pub(super) fn pause(&mut self) {
        self.may_go_on = false;
    }

    /// The slot whose answer is to be looked at now; `None` when nothing of an answer can be there.
    pub(super) fn goes_on(&self) -> Option<usize> {
        let may_receive = self.may_go_on && self.turn_bytes < TURN_BYTES;
        let has_input = may_receive || self.has_unseen();
        let front = self.order.front().filter(|_| has_input);
        front.copied().filter(|_| self.state == State::Open)
    }

    /// Whether there are bytes that nobody has looked at.
    pub(super) fn has_unseen(&self) -> bool {
        self.seen_bytes < self.input.len()
    }

    /// Returns the bytes that nobody has looked at.
    pub(super) fn unseen(&mut self) -> ReceivedPiece<'_> {
        let from = std::mem::replace(&mut self.seen_bytes, self.input.len());
        ReceivedPiece {
            input: &self.input[from..],
            may_go_on: self.may_go_on,
        }
    }

    /// Takes the received piece as the new input.
    ///
    /// # Errors
    /// `InvalidData` where bytes came although no request was sent; `ConnectionAborted` where
    /// nothing more can come.
    pub(super) fn take(
        &mut self,
        received: Option<ReceivedPiece<'_>>,
    ) -> io::Result<Option<ReceivedPiece<'_>>> {
        self.input.clear();
        self.seen_bytes = 0;
        let Some(piece) = received else {
            self.may_go_on = false;
            return match self.is_broken || self.is_ending {
                true => Err(io::ErrorKind::ConnectionAborted.into()),
                false => Ok(None),
            };
        };
        if self.sent_requests == 0 && !piece.input.is_empty() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.may_go_on = piece.may_go_on || self.is_ending;
        self.turn_bytes += piece.input.len();
        self.input.extend_from_slice(piece.input);
        Ok(Some(self.unseen()))
    }

    /// Notes that the first awaited answer has ended, `unused_bytes` before the end of the bytes
    /// looked at last. Returns whether these can belong to the next answer.
    pub(super) fn answered(&mut self, unused_bytes: usize) -> bool {
        self.order.pop_front();
        self.sent_requests = self.sent_requests.saturating_sub(1);
        self.seen_bytes = self.input.len() - unused_bytes;
        unused_bytes == 0 || self.sent_requests > 0
    }

    /// Notes that the server has announced that it answers no more.
    pub(super) fn leave(&mut self) {
        if self.state == State::Open {
            self.state = State::Leaving;
        }
    }

    /// Forgets what was sent and received, and queues all requests again.
    pub(super) fn begin_again<'r>(&mut self, request_of: impl Fn(usize) -> &'r [u8]) {
        self.forget();
        for slot in &self.order {
            self.queue.extend_from_slice(request_of(*slot));
        }
    }

    /// Takes the connection down. Returns the slots whose requests are lost by that.
    pub(super) fn go_down(&mut self, failure: io::Error) -> VecDeque<usize> {
        self.forget();
        self.state = State::Down;
        self.failure = Some(failure);
        std::mem::take(&mut self.order)
    }

    /// Why the connection is down.
    pub(super) fn failure(&self) -> io::Error {
        let Some(error) = &self.failure else {
            return io::ErrorKind::NotConnected.into();
        };
        let number = error.raw_os_error();
        number.map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
    }

    fn forget(&mut self) {
        self.sent_requests = 0;
        self.queue.clear();
        self.leaving.clear();
        self.input.clear();
        self.seen_bytes = 0;
        self.may_go_on = false;
        self.turn_bytes = 0;
        self.is_broken = false;
        self.is_ending = false;
    }
}
