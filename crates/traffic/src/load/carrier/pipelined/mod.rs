//! The carrier whose slots are places in a pipeline: as many requests as the load has at once
//! follow one another over one connection, and the answers come in the same order (RFC 9112,
//! §9.3.2).
//!
//! Requests that become due while answers of their connection are read are sent together. Requests
//! that wait behind an answer with `Connection: close` were not processed (§9.6), and are sent
//! again on a new connection. When a request is given up, or its connection ends without that
//! header, those behind it are lost as well.

mod line;

use std::collections::VecDeque;
use std::io;
use std::ops::Range;

use model::Pace;

use super::layer::Layer;
use super::{Carrier, EpollCarrier, Load, News, ReceivedPiece};
use crate::load::outcome::{ConnectionCounts, Handshakes};
use line::{Line, State};

/// The pipelines of one worker.
pub(in crate::load) struct PipelinedCarrier<L: Layer> {
    /// The connections; here a slot is a connection.
    connections: EpollCarrier<L>,
    lines: Vec<Line>,
    slots: Vec<Slot>,
    /// Slots per connection.
    depth: usize,
    /// The connection whose answers are being read.
    current: Option<usize>,
    /// Slots that are to be told what has become of their connection.
    noticed: VecDeque<usize>,
    /// Connections with requests that wait to be sent.
    waiting: Vec<usize>,
    /// Connections that accept no more requests, but may have answered some.
    broken: VecDeque<usize>,
    /// In an open loop each request is sent by itself.
    sends_at_once: bool,
    counts: ConnectionCounts,
}

/// A place in a pipeline, which carries one request after the other.
#[derive(Default)]
struct Slot {
    /// The request under way, stored so that it can be sent again where the server did not process
    /// it.
    request: Vec<u8>,
    is_out: bool,
    /// The slot waits for its connection to open.
    is_opening: bool,
    /// Its request was lost, and the load does not know yet.
    is_lost: bool,
    /// Its connection was lost while the slot had no request.
    is_cut_off: bool,
}

impl<L: Layer> Carrier for PipelinedCarrier<L> {
    type Request = [u8];
    type Input = [u8];

    const PATIENCE_NS: u64 = L::PATIENCE_NS;

    fn new(load: &Load<'_>) -> io::Result<Self> {
        let slots = 0..load.connections * load.streams;
        Ok(Self {
            connections: EpollCarrier::new(load)?,
            lines: (0..load.connections).map(|_| Line::default()).collect(),
            slots: slots.map(|_| Slot::default()).collect(),
            depth: load.streams,
            current: None,
            noticed: VecDeque::new(),
            waiting: Vec::new(),
            broken: VecDeque::new(),
            sends_at_once: load.pace != Pace::Closed,
            counts: ConnectionCounts::default(),
        })
    }

    fn open(&mut self, slot: usize) -> io::Result<()> {
        let key = self.line_of(slot);
        self.slots[slot].is_opening = true;
        match self.lines[key].state {
            State::Down => self.connect(key),
            // It is told when the opening has ended.
            State::Opening | State::Leaving => {}
            State::Open => self.noticed.push_back(slot),
        }
        Ok(())
    }

    fn finish_opening(&mut self, slot: usize) -> io::Result<bool> {
        let key = self.line_of(slot);
        let line = &self.lines[key];
        match line.state {
            State::Opening | State::Leaving => return Ok(false),
            State::Down => return Err(line.failure()),
            State::Open => {}
        }
        self.slots[slot].is_opening = false;
        Ok(true)
    }

    fn close(&mut self, index: usize) {
        let key = self.line_of(index);
        let slot = &mut self.slots[index];
        slot.is_cut_off = false;
        if std::mem::take(&mut slot.is_lost) {
            return;
        }
        if std::mem::take(&mut slot.is_opening) {
            // The next attempt must not wait for the same connection.
            if self.lines[key].state == State::Opening {
                self.give_up(key, io::ErrorKind::TimedOut.into());
            }
        } else if std::mem::take(&mut slot.is_out) {
            self.give_up(key, io::ErrorKind::ConnectionAborted.into());
        } else {
            self.lines[key].leave();
        }
    }

    fn wait(&mut self, timeout_ns: u64) -> io::Result<bool> {
        self.end_turn();
        while let Some(key) = self.waiting.pop() {
            self.flush(key);
        }
        let has_news = !self.noticed.is_empty() || !self.broken.is_empty();
        let came = self
            .connections
            .wait(if has_news { 0 } else { timeout_ns })?;
        Ok(came || has_news)
    }

    fn next(&mut self) -> Option<(usize, News)> {
        loop {
            if let Some(front) = self.current.and_then(|key| self.lines[key].goes_on()) {
                return Some((front, News::Input { is_last: false }));
            }
            self.end_turn();
            while let Some(slot) = self.noticed.pop_front() {
                if let Some(news) = self.news_of(slot) {
                    return Some((slot, news));
                }
            }
            self.current = self.broken.pop_front();
            if self.current.is_none() {
                let (key, news) = self.connections.next()?;
                self.hear(key, news);
            }
        }
    }

    fn send(&mut self, index: usize, request: &[u8]) -> io::Result<bool> {
        let key = self.line_of(index);
        let slot = &mut self.slots[index];
        slot.is_out = true;
        slot.is_cut_off = false;
        slot.request.clear();
        slot.request.extend_from_slice(request);
        let line = &mut self.lines[key];
        let is_first = line.append(index, request);
        if line.state == State::Down {
            self.connect(key);
        } else if self.sends_at_once {
            self.flush(key);
        } else if is_first {
            self.waiting.push(key);
        }
        Ok(true)
    }

    /// Nothing to do: output that the connection has no room for waits in its line.
    fn resume(&mut self, _slot: usize, _request: &[u8]) -> io::Result<bool> {
        Ok(true)
    }

    fn receive(&mut self, slot: usize) -> io::Result<Option<ReceivedPiece<'_>>> {
        let key = self.line_of(slot);
        let line = &mut self.lines[key];
        if line.has_unseen() {
            return Ok(Some(line.unseen()));
        }
        line.take(self.connections.receive(key)?)
    }

    fn look_again(&mut self, slot: usize) -> bool {
        let key = self.line_of(slot);
        self.lines[key].pause();
        self.connections.look_again(key)
    }

    fn answered(&mut self, index: usize, unused_bytes: usize) -> bool {
        let key = self.line_of(index);
        self.slots[index].is_out = false;
        self.lines[key].answered(unused_bytes)
    }

    /// Input on the connection of a slot without a request concerns other slots.
    fn absorb(&mut self, _slot: usize) -> bool {
        true
    }

    fn handshakes(&self) -> Option<&Handshakes> {
        self.connections.handshakes()
    }

    fn counts(&self) -> Option<ConnectionCounts> {
        Some(self.counts)
    }
}

impl<L: Layer> PipelinedCarrier<L> {
    fn line_of(&self, slot: usize) -> usize {
        slot / self.depth
    }

    fn slots_of(&self, key: usize) -> Range<usize> {
        key * self.depth..(key + 1) * self.depth
    }

    /// The news for a slot, according to the state of its connection.
    fn news_of(&self, index: usize) -> Option<News> {
        let slot = &self.slots[index];
        let state = self.lines[self.line_of(index)].state;
        let has_opened = slot.is_opening && matches!(state, State::Open | State::Down);
        match slot {
            Slot { is_lost: true, .. } => Some(News::Failed),
            Slot {
                is_cut_off: true, ..
            } => Some(News::Input { is_last: true }),
            _ => has_opened.then_some(News::Room),
        }
    }

    /// Starts to connect for all slots of a connection.
    fn connect(&mut self, key: usize) {
        self.lines[key].state = State::Opening;
        if let Err(error) = self.connections.open(key) {
            self.give_up(key, error);
        }
    }

    /// Handles news of a connection.
    fn hear(&mut self, key: usize, news: News) {
        match (self.lines[key].state, news) {
            (State::Opening, _) => match self.connections.finish_opening(key) {
                Ok(true) => self.opened(key),
                Ok(false) => {}
                Err(error) => self.give_up(key, error),
            },
            (_, News::Room) => self.flush(key),
            (_, News::Input { is_last }) if self.lines[key].order.is_empty() => {
                // Nothing was asked: the server hung up, or speaks out of turn.
                if is_last || !self.connections.absorb(key) {
                    self.cut_off(key);
                }
            }
            (_, News::Input { is_last }) => {
                self.lines[key].note_input(is_last);
                self.current = Some(key);
            }
            (_, News::Failed) => {}
        }
    }

    fn opened(&mut self, key: usize) {
        let line = &mut self.lines[key];
        line.state = State::Open;
        let was_open = std::mem::replace(&mut line.was_open, true);
        self.counts.opened += u64::from(!was_open);
        self.counts.reopened += u64::from(was_open);
        self.tell_opening(key);
        self.flush(key);
    }

    /// Tells the slots that wait for a connection to open.
    fn tell_opening(&mut self, key: usize) {
        let is_opening = |slot: &usize| self.slots[*slot].is_opening;
        self.noticed.extend(self.slots_of(key).filter(is_opening));
    }

    /// Sends what waits on a connection, as far as there is room.
    fn flush(&mut self, key: usize) {
        let line = &mut self.lines[key];
        while let Some((bytes, is_new)) = line.output() {
            let sent = match is_new {
                true => self.connections.send(key, bytes),
                false => self.connections.resume(key, bytes),
            };
            match sent {
                Ok(true) => line.note_sent(),
                Ok(false) => return,
                Err(_) => {
                    // What the server sent before it closed can still be read.
                    line.break_off();
                    return self.broken.push_back(key);
                }
            }
        }
    }

    /// Ends the turn of a connection when all its input was looked at: the requests that this
    /// brought forth are sent together.
    fn end_turn(&mut self) {
        let Some(key) = self.current.take() else {
            return;
        };
        let line = &mut self.lines[key];
        let is_cut = line.end_turn();
        if line.state == State::Leaving {
            return self.begin_again(key);
        }
        if line.is_useless() {
            return self.cut_off(key);
        }
        if is_cut {
            self.connections.look_again(key);
        }
        self.flush(key);
    }

    /// Closes a connection on which nobody waits for an answer, and tells its slots.
    fn cut_off(&mut self, key: usize) {
        self.give_up(key, io::ErrorKind::ConnectionAborted.into());
        for index in self.slots_of(key) {
            self.slots[index].is_cut_off = true;
            self.noticed.push_back(index);
        }
    }

    /// Sends the requests that this connection has not processed on a new one.
    fn begin_again(&mut self, key: usize) {
        self.connections.close(key);
        let slots = &self.slots;
        self.lines[key].begin_again(|slot| &slots[slot].request[..]);
        let is_wanted = |slot: &Slot| slot.is_out || slot.is_opening;
        match slots[self.slots_of(key)].iter().any(is_wanted) {
            true => self.connect(key),
            false => self.lines[key].state = State::Down,
        }
    }

    /// Closes a connection whose answers will not come.
    fn give_up(&mut self, key: usize, error: io::Error) {
        self.counts.failed += u64::from(self.lines[key].state == State::Opening);
        self.connections.close(key);
        for index in self.lines[key].go_down(error) {
            let slot = &mut self.slots[index];
            // A slot that gives up its own request already knows.
            if std::mem::take(&mut slot.is_out) {
                slot.is_lost = true;
                self.noticed.push_back(index);
            }
        }
        self.tell_opening(key);
    }
}

impl<L: Layer> Drop for PipelinedCarrier<L> {
    /// Closes every connection as [`Carrier::close`] does: by a reset, which leaves no port in
    /// TIME_WAIT.
    fn drop(&mut self) {
        (0..self.lines.len()).for_each(|key| self.connections.close(key));
    }
}
