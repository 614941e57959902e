//! One connection of a pipeline: whose answers are awaited, what is to leave, and what has come.

use std::collections::VecDeque;
use std::io;

use super::ReceivedPiece;

/// What is taken of one connection before others have their turn: a millisecond or two of work.
const TURN_BYTES: usize = 256 << 10;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    #[default]
    Down,
    Opening,
    Open,
    /// Its server answers no more.
    Leaving,
}

#[derive(Default)]
pub(super) struct Line {
    pub(super) state: State,
    pub(super) was_open: bool,
    /// Why it went down.
    failure: Option<io::Error>,
    /// Slots whose answers are awaited, in the order in which these come.
    pub(super) order: VecDeque<usize>,
    /// How many of their requests have left.
    left: usize,
    /// Requests that have not left, and those of which the socket has taken a part.
    queue: Vec<u8>,
    leaving: Vec<u8>,
    /// What was received last, and how much of it was looked at.
    input: Vec<u8>,
    seen_bytes: usize,
    /// There may be more to receive.
    may_go_on: bool,
    /// What was received in this turn.
    turn_bytes: usize,
    /// It takes no more requests.
    is_broken: bool,
    /// The peer has closed, behind what is still to be received.
    is_ending: bool,
}

impl Line {
    /// Adds a request; true when none waited before.
    pub(super) fn append(&mut self, slot: usize, request: &[u8]) -> bool {
        let is_first = self.queue.is_empty();
        self.order.push_back(slot);
        self.queue.extend_from_slice(request);
        is_first
    }

    /// What is to be sent now, and whether that begins anew; `None` when nothing can be, or waits.
    pub(super) fn output(&mut self) -> Option<(&[u8], bool)> {
        if self.is_broken || self.state != State::Open {
            return None;
        }
        let is_new = self.leaving.is_empty();
        if is_new {
            std::mem::swap(&mut self.leaving, &mut self.queue);
            self.left = self.order.len();
        }
        (!self.leaving.is_empty()).then_some((&self.leaving[..], is_new))
    }

    /// All of the output was sent.
    pub(super) fn note_sent(&mut self) {
        self.leaving.clear();
    }

    /// Sends nothing more, and looks what was received before.
    pub(super) fn break_off(&mut self) {
        self.is_broken = true;
        self.stir(false);
    }

    /// Something can be received; of an end there will be no news again.
    pub(super) fn stir(&mut self, is_last: bool) {
        self.may_go_on = true;
        self.is_ending |= is_last;
    }

    /// Ends a turn; whether that leaves something to be received.
    pub(super) fn end_turn(&mut self) -> bool {
        let is_cut = self.may_go_on && self.turn_bytes >= TURN_BYTES;
        self.may_go_on &= !is_cut;
        self.turn_bytes = 0;
        is_cut
    }

    /// Whether it is of no use: it will answer nothing more, or speaks although nobody asked.
    pub(super) fn is_useless(&self) -> bool {
        let is_over = self.is_broken || self.is_ending || self.has_unseen();
        is_over && self.order.is_empty()
    }

    /// Lets others have their turn.
    pub(super) fn pause(&mut self) {
        self.may_go_on = false;
    }

    /// Whose answer is to be looked at now; `None` when nothing of one may be there.
    pub(super) fn goes_on(&self) -> Option<usize> {
        let may_receive = self.may_go_on && self.turn_bytes < TURN_BYTES;
        let has_input = may_receive || self.has_unseen();
        let front = self.order.front().filter(|_| has_input);
        front.copied().filter(|_| self.state == State::Open)
    }

    /// Whether bytes are there that nobody looked at.
    pub(super) fn has_unseen(&self) -> bool {
        self.seen_bytes < self.input.len()
    }

    /// Those bytes.
    pub(super) fn unseen(&mut self) -> ReceivedPiece<'_> {
        let from = std::mem::replace(&mut self.seen_bytes, self.input.len());
        ReceivedPiece {
            input: &self.input[from..],
            may_go_on: self.may_go_on,
        }
    }

    /// Takes what was received.
    ///
    /// # Errors
    /// `InvalidData` where nothing was asked that it could answer; `ConnectionAborted` where nothing
    /// more can come.
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
        if self.left == 0 && !piece.input.is_empty() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.may_go_on = piece.may_go_on || self.is_ending;
        self.turn_bytes += piece.input.len();
        self.input.extend_from_slice(piece.input);
        Ok(Some(self.unseen()))
    }

    /// The first answer has ended before so many of the bytes that were looked at last; whether these
    /// can be of the next.
    pub(super) fn answered(&mut self, unused_bytes: usize) -> bool {
        self.order.pop_front();
        self.left = self.left.saturating_sub(1);
        self.seen_bytes = self.input.len() - unused_bytes;
        unused_bytes == 0 || self.left > 0
    }

    /// The server has said that it answers no more.
    pub(super) fn leave(&mut self) {
        if self.state == State::Open {
            self.state = State::Leaving;
        }
    }

    /// Forgets what was sent and received, and has all requests wait to be sent again.
    pub(super) fn begin_again<'r>(&mut self, request_of: impl Fn(usize) -> &'r [u8]) {
        self.forget();
        for slot in &self.order {
            self.queue.extend_from_slice(request_of(*slot));
        }
    }

    /// Goes down; the slots whose requests are lost by that.
    pub(super) fn go_down(&mut self, failure: io::Error) -> VecDeque<usize> {
        self.forget();
        self.state = State::Down;
        self.failure = Some(failure);
        std::mem::take(&mut self.order)
    }

    /// Why it is down.
    pub(super) fn failure(&self) -> io::Error {
        let Some(error) = &self.failure else {
            return io::ErrorKind::NotConnected.into();
        };
        let number = error.raw_os_error();
        number.map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
    }

    fn forget(&mut self) {
        self.left = 0;
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
