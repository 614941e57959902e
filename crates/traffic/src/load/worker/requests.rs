//! The path of a request from the moment it is due to the bin it ends in.

use std::io;

use sys::clock;

use super::{Phase, Worker};
use crate::load::carrier::{Carrier, News};
use crate::load::connections::Stage;
use crate::load::countdown::Countdown;
use crate::load::recorder::RequestTimes;
use crate::protocol::{Fate, Framing, Protocol, Received as _};

/// Bytes read of one answer before others have their turn: about a millisecond of work.
const TURN_BYTES: usize = 4 << 20;

impl<P, C> Worker<'_, P, C>
where
    P: Protocol,
    C: Carrier<Request = P::Request, Input = P::Input>,
{
    /// Sends the due requests of an open loop on free connections, in the order in which they were
    /// due. A request that finds no connection waits for the next one and keeps its intended time.
    #[inline]
    pub(super) fn send_due(&mut self) {
        while let Some(intended_ns) = self.due_ns() {
            let now_ns = clock::monotonic_ns();
            if intended_ns > now_ns || self.phase == Phase::Draining {
                return;
            }
            let connections = &self.connections;
            let Some(slot) = self
                .free
                .take(|slot| connections.stage(slot) == Stage::Idle)
            else {
                return;
            };
            if !self.may_begin() {
                return;
            }
            if let Some(schedule) = &mut self.schedule {
                schedule.advance();
            }
            self.send(
                slot,
                RequestTimes {
                    intended_ns,
                    sent_ns: now_ns,
                },
            );
        }
    }

    #[inline]
    pub(super) fn handle(&mut self, slot: usize, news: News, now_ns: u64) {
        match (self.connections.stage(slot), news) {
            (Stage::Opening { .. }, _) => {
                if self.connections.finish_opening(slot, now_ns) {
                    self.ready(slot, now_ns);
                }
            }
            (Stage::Idle, News::Input { is_last: false })
                if self.connections.carrier.absorb(slot) => {}
            // No request is under way here: the peer hung up, or it speaks out of turn.
            (Stage::Idle, _) => self.connections.reopen(slot, now_ns),
            (Stage::Down { .. }, _) => {}
            (Stage::Waiting | Stage::Sending, News::Input { is_last }) => {
                self.receive(slot, is_last, now_ns);
            }
            (Stage::Sending, News::Room) => self.push(slot, false, now_ns),
            (Stage::Waiting, News::Room) => {}
            (Stage::Waiting | Stage::Sending, News::Failed) => {
                self.fail(slot, Fate::Closed, now_ns);
            }
        }
    }

    /// Reads what has come of an answer and, if the connection has ended, up to its end. A peer
    /// that sends faster than we receive would never let go: after a turn, the other connections
    /// and the clock come first.
    #[inline]
    fn receive(&mut self, slot: usize, is_last: bool, now_ns: u64) {
        let mut turn_bytes = 0;
        while let Some((framing, bytes, may_go_on)) = self.read(slot) {
            turn_bytes += bytes;
            match framing {
                Framing::More => {
                    self.connections.at(slot).heard_ns = now_ns;
                    let is_turn_over = turn_bytes >= TURN_BYTES && !is_last;
                    if is_turn_over && self.connections.carrier.look_again(slot) {
                        self.connections.at(slot).heard_ns = clock::monotonic_ns();
                        return;
                    }
                    if may_go_on || is_last {
                        continue;
                    }
                }
                Framing::Whole { fate, closes, .. } => {
                    let sent_all = self.connections.stage(slot) == Stage::Waiting;
                    let is_last = closes || is_last || !sent_all;
                    self.take_answer(slot, fate, is_last, now_ns);
                }
                Framing::Malformed => self.fail(slot, Fate::Malformed, now_ns),
                Framing::CutShort => self.fail(slot, Fate::Closed, now_ns),
            }
            return;
        }
    }

    /// Reads once. Returns the result, the number of bytes, and whether there may be more; `None`
    /// when nothing was there.
    #[inline]
    fn read(&mut self, slot: usize) -> Option<(Framing, usize, bool)> {
        let memory = &mut self.memory;
        let (piece, exchange) = self.connections.receive(slot)?;
        let piece = match piece {
            Ok(piece) => piece,
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Some((Framing::Malformed, 0, false));
            }
            Err(_) => return Some((Framing::CutShort, 0, false)),
        };
        let (bytes, may_go_on) = (piece.input.wire_bytes(), piece.may_go_on);
        let framing = match piece.input.is_end() {
            true => self.protocol.read_end(memory, exchange),
            false => self.protocol.read(memory, exchange, piece.input),
        };
        let (framing, taken) = match framing {
            // Where no other request was under way, bytes after the answer belong to nothing.
            Framing::Whole { used, .. }
                if !self.connections.carrier.answered(slot, bytes - used) =>
            {
                (Framing::Malformed, bytes)
            }
            // The other bytes are read again, for the next answer.
            Framing::Whole { used, .. } => (framing, used),
            framing => (framing, bytes),
        };
        self.recorder.received(taken);
        Some((framing, taken, may_go_on))
    }

    #[inline]
    fn take_answer(&mut self, slot: usize, fate: Fate, is_last: bool, batch_ns: u64) {
        // Without distributions, the time of the batch is precise enough.
        let now_ns = if self.plan.record_latency {
            clock::monotonic_ns()
        } else {
            batch_ns
        };
        let connection = self.connections.at(slot);
        connection.reset_failures();
        connection.stage = Stage::Idle;
        self.end(slot, fate, now_ns);
        if is_last {
            self.connections.reopen(slot, now_ns);
        } else {
            self.ready(slot, now_ns);
        }
    }

    /// Records a request that has ended.
    #[inline]
    pub(super) fn end(&mut self, slot: usize, fate: Fate, now_ns: u64) {
        let connection = self.connections.at(slot);
        self.recorder.ended(connection.request, fate, now_ns);
        if let Some(countdown) = self.countdown {
            countdown.ended(now_ns);
        }
        self.protocol
            .ended(&mut self.memory, &connection.exchange, fate);
    }

    pub(super) fn fail(&mut self, slot: usize, fate: Fate, now_ns: u64) {
        self.end(slot, fate, now_ns);
        self.connections.reopen(slot, now_ns);
    }

    /// Uses a connection that is free: at once in closed loop, otherwise when a request is due.
    #[inline]
    pub(super) fn ready(&mut self, slot: usize, now_ns: u64) {
        if self.phase == Phase::Draining {
            return;
        }
        if self.schedule.is_some() {
            self.free.push(slot);
            self.send_due();
        } else if self.may_begin() {
            self.send(
                slot,
                RequestTimes {
                    intended_ns: now_ns,
                    sent_ns: now_ns,
                },
            );
        }
    }

    /// Whether one more request may be begun; if so, it is taken off the countdown.
    #[inline]
    fn may_begin(&self) -> bool {
        self.countdown.is_none_or(Countdown::take)
    }

    #[inline]
    fn send(&mut self, slot: usize, request: RequestTimes) {
        let connection = self.connections.at(slot);
        self.protocol
            .begin(&mut self.memory, &mut connection.exchange);
        connection.request = request;
        connection.heard_ns = request.sent_ns;
        self.recorder.sent(request);
        self.push(slot, true, request.sent_ns);
    }

    /// Passes as much of the request to the carrier as it accepts.
    #[inline]
    fn push(&mut self, slot: usize, is_new: bool, now_ns: u64) {
        if self.connections.send(slot, is_new, self.protocol).is_err() {
            self.fail(slot, Fate::Closed, now_ns);
        }
    }
}
