//! One connection: the bytes received that are not taken yet, the output still to be sent, and its
//! deadline.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd as _;

use sys::tcp_info;

use super::channel::{Channel, Received};
use super::life::Count;
use super::output::{Output, Turn};
use super::service::{Next, Service, Step};
use super::shared::Shared;
use super::transfer::Transfer;

/// Answers gather up to this size before they are sent, bytes. Together with the answer that
/// crosses this limit it bounds how much a connection may hold for a peer that does not read.
const OUTPUT_LIMIT_BYTES: usize = 64 * 1024;

/// Longest answer after which we may close at once, bytes: that much is sent before the peer has
/// acknowledged any of it, so a later byte of the peer finds nothing left to destroy.
const LITTLE_BYTES: u64 = 16 * 1024;

/// How long a peer that was told to be quiet may go on sending, once it has received all that was
/// sent.
const HUSH_S: u32 = 2;

/// What is to be done with a connection after it was attended to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Keep,
    /// Call [`Connection::send`] once the other connections of the batch were attended to.
    Send,
    Close,
}

pub(super) struct Connection<C, M> {
    channel: C,
    memory: M,
    /// Bytes received, but not yet taken by the service.
    untaken: Vec<u8>,
    output: Output,
    /// What happens once all output is sent.
    next: Next,
    /// The peer was told that nothing more will be answered.
    hushed: bool,
    /// A request has begun, and `deadline_second` is the deadline for its end.
    mid_request: bool,
    /// A request was answered since the deadline was set.
    answered: bool,
    /// The socket may hold bytes that have not been read.
    unread: bool,
    /// The kernel may still hold a part of what was sent: closing with unread bytes would destroy
    /// it.
    sent_much: bool,
    deadline_second: u32,
    /// Since when the peer has been behind with the output for it.
    behind: Option<Behind>,
}

/// A peer that has not taken all of the output for it.
#[derive(Clone, Copy)]
struct Behind {
    since_second: u32,
    /// Bytes sent by then; for a peer that was told to be quiet, bytes that it had acknowledged by
    /// then.
    sent_bytes: u64,
}

impl<C: Channel, M: Default> Connection<C, M> {
    pub(super) fn new<S, T>(socket: TcpStream, shared: &Shared<S, C, T>) -> io::Result<Self> {
        Ok(Self {
            channel: C::new(socket, &shared.common)?,
            memory: M::default(),
            untaken: Vec::new(),
            output: Output::default(),
            next: Next::Continue,
            hushed: false,
            mid_request: false,
            answered: false,
            unread: false,
            sent_much: false,
            deadline_second: shared.deadline(shared.settings.idle_timeout_s),
            behind: None,
        })
    }

    pub(super) fn socket(&self) -> &TcpStream {
        self.channel.socket()
    }

    /// Memory that the connection holds, bytes.
    #[inline]
    pub(super) fn held_bytes<S: Service<Memory = M>>(&self, service: &S) -> usize {
        size_of::<Self>()
            + self.untaken.capacity()
            + self.output.room_bytes()
            + self.channel.held_bytes()
            + service.held_bytes(&self.memory)
    }

    /// Whether its time is up. If so, this has counted it and told the peer.
    pub(super) fn is_overdue<S, T: Transfer>(&mut self, shared: &mut Shared<S, C, T>) -> bool {
        let is_late = self.is_late(shared) && !self.still_takes(shared);
        if is_late {
            // A connection that was told to be quiet has already been counted, or had its answer.
            match (self.hushed, self.has_output()) {
                (true, _) => {}
                (false, true) => shared.life.count(Count::Slow),
                (false, false) => shared.life.count(Count::TimedOut),
            }
            self.take_leave(shared);
        }
        is_late
    }

    /// Whether its time is up.
    pub(super) fn is_late<S, T>(&self, shared: &Shared<S, C, T>) -> bool {
        shared.is_past(self.deadline_second)
    }

    /// Whether a peer that was told to be quiet is still taking data that the kernel holds for it.
    /// If so, it is given more time.
    fn still_takes<S, T>(&mut self, shared: &Shared<S, C, T>) -> bool {
        let Some(behind) = self.behind.as_mut().filter(|_| self.hushed) else {
            return false;
        };
        let Some(acked_bytes) = tcp_info::acked_before_end(self.channel.socket().as_fd()) else {
            return false;
        };
        let taken_bytes = acked_bytes.saturating_sub(behind.sent_bytes);
        let second = shared.second();
        if shared.is_fast_enough(behind.since_second, taken_bytes) {
            (behind.since_second, behind.sent_bytes) = (second, acked_bytes);
        } else if second - behind.since_second > shared.settings.idle_timeout_s {
            return false;
        }
        self.deadline_second = shared.deadline(HUSH_S);
        true
    }

    /// Whether no request has begun and no answer is under way.
    fn is_idle(&self) -> bool {
        !self.mid_request && !self.has_output() && !self.hushed
    }

    /// Says goodbye before a close that the peer did not bring about. In the middle of an answer
    /// nothing is said: it would look like the end of that answer.
    fn take_leave<S, T: Transfer>(&mut self, shared: &mut Shared<S, C, T>) {
        if !self.has_output() && !self.hushed {
            self.channel
                .say_goodbye(&mut shared.common, &mut shared.transfer);
        }
    }

    /// Whether output waits for room. Nothing is read then: we do not listen to a peer that does
    /// not read.
    pub(super) fn waits_for_room(&self) -> bool {
        self.has_output() && !self.hushed
    }

    /// Whether the connection goes on in the same way whatever becomes of its present output.
    pub(super) fn just_goes_on(&self) -> bool {
        self.next == Next::Continue && !self.output.has_file() && !self.channel.has_ended()
    }

    /// Gives the peer its time for reading what was sent.
    pub(super) fn expect_room<S, T>(&mut self, shared: &Shared<S, C, T>) {
        self.sent_much = true;
        let sent_bytes = self.output.total_sent();
        let behind = self.behind.get_or_insert_with(|| Behind {
            since_second: shared.second(),
            sent_bytes,
        });
        let taken_bytes = sent_bytes - behind.sent_bytes;
        let slowest_end = shared.slowest_end(behind.since_second, taken_bytes);
        let silent_end = shared.deadline(shared.settings.idle_timeout_s);
        self.deadline_second = silent_end.min(slowest_end);
    }

    /// Sets the deadline for what comes next, once the peer has made room for all output.
    pub(super) fn room_was_had<S, T>(&mut self, shared: &Shared<S, C, T>) {
        if !self.has_output() {
            self.behind = None;
            self.deadline_second = self.next_deadline(shared);
        }
    }

    fn next_deadline<S, T>(&self, shared: &Shared<S, C, T>) -> u32 {
        shared.deadline(if self.mid_request {
            shared.settings.request_timeout_s
        } else {
            shared.settings.idle_timeout_s
        })
    }

    /// Whether the socket may hold bytes that were not read and that it will not report again.
    pub(super) fn take_unread(&mut self) -> bool {
        std::mem::take(&mut self.unread)
    }

    /// Whether the connection is to be closed now: at its end, or because it is idle in a worker
    /// that drains. A connection that was never answered is not closed yet: its first request may
    /// be on the way, or it may be in the middle of a handshake.
    pub(super) fn is_over<S, T: Transfer>(
        &mut self,
        fate: Fate,
        shared: &mut Shared<S, C, T>,
    ) -> bool {
        if fate == Fate::Close || !shared.is_draining() || !self.is_idle() {
            return fate == Fate::Close;
        }
        if self.output.total_sent() == 0 {
            let request_end = shared.deadline(shared.settings.request_timeout_s);
            self.deadline_second = self.deadline_second.min(request_end);
            return false;
        }
        self.take_leave(shared);
        // The goodbye itself may have to wait for room.
        self.is_idle() && self.close_or_wait(shared) == Fate::Close
    }

    /// Does what the socket is ready for. `hung_up` says that nothing will follow the bytes that
    /// are there.
    pub(super) fn proceed<S: Service<Memory = M>, T: Transfer>(
        &mut self,
        shared: &mut Shared<S, C, T>,
        hung_up: bool,
    ) -> Fate {
        if self.hushed {
            self.discard(shared)
        } else if self.has_output() {
            self.resume(shared)
        } else {
            self.receive(shared, hung_up)
        }
    }

    /// Sends the answers that have gathered.
    pub(super) fn send<S: Service<Memory = M>, T: Transfer>(
        &mut self,
        shared: &mut Shared<S, C, T>,
    ) -> Fate {
        match self.flush(shared, &mut Turn::of::<C>(shared.connections)) {
            Ok(()) => self.settle(shared),
            Err(error) => Self::fail(shared, &error),
        }
    }

    fn receive<S: Service<Memory = M>, T: Transfer>(
        &mut self,
        shared: &mut Shared<S, C, T>,
        hung_up: bool,
    ) -> Fate {
        let kept_bytes = self.restore_untaken(shared);
        let room = &mut shared.input[kept_bytes..];
        match self
            .channel
            .receive(&mut shared.common, &mut shared.transfer, room)
        {
            Ok(Received::Bytes {
                count,
                perhaps_more,
            }) => {
                // The end of the connection may follow the last bytes without another event.
                self.unread = hung_up || perhaps_more;
                self.untaken.clear();
                self.answer(
                    shared,
                    kept_bytes + count,
                    Turn::of::<C>(shared.connections),
                )
            }
            Ok(Received::Nothing) => Fate::Keep,
            Ok(Received::Refused) => {
                self.next = Next::Refuse;
                self.send(shared)
            }
            Ok(Received::End) => self.end_with_peer(shared),
            Err(error) => Self::fail(shared, &error),
        }
    }

    /// Goes on sending, and then with the input that was kept when there was no more room.
    fn resume<S: Service<Memory = M>, T: Transfer>(
        &mut self,
        shared: &mut Shared<S, C, T>,
    ) -> Fate {
        let mut turn = Turn::of::<C>(shared.connections);
        if let Err(error) = self.flush(shared, &mut turn) {
            return Self::fail(shared, &error);
        }
        if self.has_output() {
            self.expect_room(shared);
            return Fate::Keep;
        }
        let kept_bytes = self.restore_untaken(shared);
        self.untaken.clear();
        self.answer(shared, kept_bytes, turn)
    }

    fn restore_untaken<S, T>(&self, shared: &mut Shared<S, C, T>) -> usize {
        let kept_bytes = self.untaken.len();
        shared.input[..kept_bytes].copy_from_slice(&self.untaken);
        kept_bytes
    }

    /// Takes requests from the shared input; their answers gather in the output.
    fn answer<S: Service<Memory = M>, T: Transfer>(
        &mut self,
        shared: &mut Shared<S, C, T>,
        filled: usize,
        mut turn: Turn,
    ) -> Fate {
        let mut taken = 0;
        let mut at_once = false;
        while !self.has_ended() && (taken < filled || self.next == Next::SendFirst) {
            let input = &shared.input[taken..filled];
            match shared
                .service
                .step(&mut self.memory, input, &mut self.output)
            {
                Step::NeedMore => break,
                Step::Took { bytes, next } => {
                    taken += bytes;
                    self.next = next;
                }
            }
            self.answered |= self.has_output();
            at_once |= self.next == Next::SendFirst;
            if self.next == Next::SendFirst || self.is_full() {
                self.sent_much |= self.output.left_bytes() > LITTLE_BYTES;
                if let Err(error) = self.flush(shared, &mut turn) {
                    return Self::fail(shared, &error);
                }
                if self.has_output() {
                    // The rest of the input is taken when there is room again.
                    self.keep(&shared.input[taken..filled]);
                    return self.settle(shared);
                }
            }
        }
        self.keep(&shared.input[taken..filled]);
        if self.untaken.len() == shared.input.len() {
            return Fate::Close;
        }
        // Without output there is nothing to wait for; and a stop in the same batch must find the
        // connection in the middle of its request.
        if at_once || !self.has_output() {
            self.send(shared)
        } else {
            Fate::Send
        }
    }

    /// Sets the deadline, or ends the connection where it is to end.
    fn settle<S: Service<Memory = M>, T: Transfer>(
        &mut self,
        shared: &mut Shared<S, C, T>,
    ) -> Fate {
        if self.has_output() {
            self.expect_room(shared);
            return Fate::Keep;
        }
        self.behind = None;
        match self.next {
            Next::Close => return self.end(shared),
            Next::Hush => return self.hush(shared),
            Next::Refuse => {
                shared.life.count(Count::Refused);
                return self.hush(shared);
            }
            Next::Continue | Next::SendFirst if self.channel.has_ended() => {
                return self.end_with_peer(shared);
            }
            Next::Continue | Next::SendFirst => {}
        }
        let answered = std::mem::take(&mut self.answered);
        let was_mid_request = self.mid_request;
        self.mid_request = !self.untaken.is_empty()
            || shared.service.is_mid_request(&self.memory)
            || self.channel.is_mid_message();
        // Bytes that neither begin nor end a request, and bring no answer, gain no time.
        if answered || self.mid_request != was_mid_request {
            self.deadline_second = self.next_deadline(shared);
        }
        Fate::Keep
    }

    /// Ends a connection whose peer sends no more. No byte can come any more that would destroy
    /// what is on its way to the peer.
    fn end_with_peer<S, T: Transfer>(&mut self, shared: &mut Shared<S, C, T>) -> Fate {
        self.sent_much = false;
        self.end(shared)
    }

    /// Ends a connection. It waits until the channel has sent its output, which would be lost
    /// otherwise.
    fn end<S, T: Transfer>(&mut self, shared: &mut Shared<S, C, T>) -> Fate {
        self.channel
            .say_goodbye(&mut shared.common, &mut shared.transfer);
        if !self.channel.has_output() {
            return self.close_or_wait(shared);
        }
        self.next = Next::Close;
        self.deadline_second = shared.deadline(shared.settings.idle_timeout_s);
        Fate::Keep
    }

    fn fail<S, T>(shared: &Shared<S, C, T>, error: &io::Error) -> Fate {
        shared.note_error(error);
        Fate::Close
    }

    /// Closes, or first waits until the peer has received what was sent.
    fn close_or_wait<S, T: Transfer>(&mut self, shared: &mut Shared<S, C, T>) -> Fate {
        match self.sent_much {
            true => self.hush(shared),
            false => Fate::Close,
        }
    }

    fn hush<S, T: Transfer>(&mut self, shared: &mut Shared<S, C, T>) -> Fate {
        self.channel
            .say_goodbye(&mut shared.common, &mut shared.transfer);
        if self.socket().shutdown(Shutdown::Write).is_err() {
            return Fate::Close;
        }
        self.hushed = true;
        self.untaken = Vec::new();
        self.behind = Some(Behind {
            since_second: shared.second(),
            sent_bytes: 0,
        });
        self.deadline_second = shared.deadline(HUSH_S);
        Fate::Keep
    }

    fn discard<S, T: Transfer>(&mut self, shared: &mut Shared<S, C, T>) -> Fate {
        self.unread = true;
        match self
            .channel
            .discard(&mut shared.transfer, &mut shared.input)
        {
            true => Fate::Keep,
            false => Fate::Close,
        }
    }

    fn flush<S, T: Transfer>(
        &mut self,
        shared: &mut Shared<S, C, T>,
        turn: &mut Turn,
    ) -> io::Result<()> {
        let means = (&mut shared.common, &mut shared.transfer);
        self.output.flush(&mut self.channel, means, turn)
    }

    /// Whether the output must be sent before anything is appended.
    fn is_full(&self) -> bool {
        self.output.held_bytes() >= OUTPUT_LIMIT_BYTES || self.output.has_file()
    }

    fn keep(&mut self, rest: &[u8]) {
        if !self.has_ended() {
            self.untaken.extend_from_slice(rest);
        }
    }

    fn has_ended(&self) -> bool {
        matches!(self.next, Next::Close | Next::Hush | Next::Refuse)
    }

    fn has_output(&self) -> bool {
        !self.output.is_empty() || self.channel.has_output()
    }
}

#[cfg(test)]
mod tests;
