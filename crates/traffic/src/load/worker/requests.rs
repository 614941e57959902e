//! One request from the moment it is due to the bin it ends in.

use sys::clock;
use sys::epoll::Event;
use sys::socket;

use super::{Phase, Worker};
use crate::load::connections::Stage;
use crate::load::protocol::{Fate, Framing, Protocol};
use crate::load::recorder::Request;

impl<P: Protocol> Worker<'_, P> {
    /// Sends what is due in an open loop, on connections that are free, in the order in which it
    /// was due. What finds none waits for the next one, its intended time kept.
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
            if let Some(schedule) = &mut self.schedule {
                schedule.advance();
            }
            self.send(
                slot,
                Request {
                    intended_ns,
                    sent_ns: now_ns,
                },
            );
        }
    }

    #[inline]
    pub(super) fn handle(&mut self, event: &Event, now_ns: u64) {
        let Some(slot) = self.connections.slot_of(event) else {
            return;
        };
        match self.connections.stage(slot) {
            Stage::Waiting => self.receive(slot, event, now_ns),
            Stage::Sending if event.readable || event.hung_up => self.receive(slot, event, now_ns),
            Stage::Sending => self.push(slot, now_ns),
            Stage::Opening { .. } => {
                if self.connections.finish_opening(slot, now_ns) {
                    self.ready(slot, now_ns);
                }
            }
            // Nobody was asked anything: the peer hung up, or speaks out of turn.
            Stage::Idle => self.connections.reopen(slot, now_ns),
            Stage::Down { .. } => {}
        }
    }

    /// Takes what has come of an answer. A piece shorter than the buffer has emptied the socket,
    /// so a read that finds nothing is not made; only the end of a connection needs one more.
    #[inline]
    fn receive(&mut self, slot: usize, event: &Event, now_ns: u64) {
        while let Some((framing, fills_buffer)) = self.read(slot) {
            match framing {
                Framing::More if fills_buffer || event.hung_up => continue,
                Framing::More => {}
                Framing::Whole { fate, closes, .. } => {
                    let sent_all = self.connections.stage(slot) == Stage::Waiting;
                    let is_last = closes || event.hung_up || !sent_all;
                    self.take_answer(slot, fate, is_last, now_ns);
                }
                Framing::Malformed => self.fail(slot, Fate::Malformed, now_ns),
                Framing::CutShort => self.fail(slot, Fate::Closed, now_ns),
            }
            return;
        }
    }

    /// Reads once: what came of it, and whether there may be more; `None` when nothing was there.
    #[inline]
    fn read(&mut self, slot: usize) -> Option<(Framing, bool)> {
        let (connection, memory) = (self.connections.at(slot), &mut self.memory);
        let received = socket::receive(connection.socket()?, &mut self.buffer);
        let exchange = &mut connection.exchange;
        let count = match received {
            Ok(None) => return None,
            Ok(Some(0)) => return Some((self.protocol.read_end(memory, exchange), false)),
            Ok(Some(count)) => count,
            Err(_) => return Some((Framing::CutShort, false)),
        };
        let framing = match self.protocol.read(memory, exchange, &self.buffer[..count]) {
            // Only one request was out, so bytes after its answer belong to nothing.
            Framing::Whole { used, .. } if used < count => Framing::Malformed,
            framing => framing,
        };
        Some((framing, count == self.buffer.len()))
    }

    #[inline]
    fn take_answer(&mut self, slot: usize, fate: Fate, is_last: bool, batch_ns: u64) {
        // Without distributions the time of the batch is near enough.
        let now_ns = if self.plan.record_latency {
            clock::monotonic_ns()
        } else {
            batch_ns
        };
        let connection = self.connections.at(slot);
        connection.bore_fruit();
        connection.stage = Stage::Idle;
        self.recorder.ended(connection.request, fate, now_ns);
        if is_last {
            self.connections.reopen(slot, now_ns);
        } else {
            self.ready(slot, now_ns);
        }
    }

    pub(super) fn fail(&mut self, slot: usize, fate: Fate, now_ns: u64) {
        self.recorder
            .ended(self.connections.at(slot).request, fate, now_ns);
        self.connections.reopen(slot, now_ns);
    }

    /// A connection can carry the next request: at once in closed loop, else when one is due.
    #[inline]
    pub(super) fn ready(&mut self, slot: usize, now_ns: u64) {
        if self.phase == Phase::Draining {
            return;
        }
        if self.schedule.is_some() {
            self.free.push(slot);
            self.send_due();
        } else {
            self.send(
                slot,
                Request {
                    intended_ns: now_ns,
                    sent_ns: now_ns,
                },
            );
        }
    }

    #[inline]
    fn send(&mut self, slot: usize, request: Request) {
        let connection = self.connections.at(slot);
        self.protocol
            .begin(&mut self.memory, &mut connection.exchange);
        connection.request = request;
        connection.taken = 0;
        self.recorder.sent(request);
        self.push(slot, request.sent_ns);
    }

    /// Gives the socket what it takes of the request.
    #[inline]
    fn push(&mut self, slot: usize, now_ns: u64) {
        let connection = self.connections.at(slot);
        let Some(fd) = connection.socket() else {
            return;
        };
        let rest = &self.protocol.request(&connection.exchange)[connection.taken..];
        let is_whole = match socket::send(fd, rest) {
            Ok(count) => {
                let count = count.unwrap_or(0);
                let is_whole = count == rest.len();
                connection.taken += count;
                is_whole
            }
            Err(_) => return self.fail(slot, Fate::Closed, now_ns),
        };
        connection.stage = if is_whole {
            Stage::Waiting
        } else {
            Stage::Sending
        };
        if self.connections.want_room(slot, !is_whole).is_err() {
            self.fail(slot, Fate::Closed, now_ns);
        }
    }
}
