//! The carrier whose slots are streams of HTTP/2. A group of slots shares one connection; h2 wakes
//! each slot by its own waker.
//!
//! A connection that the server ends in good order keeps its streams. The next request of each of
//! their slots goes to a new connection of the group, and so does a request that the server did not
//! begin to process. A request that is given up takes its connection along, as over HTTP/1.1,
//! unless that connection has answered others in the meantime.

mod link;
mod links;

use std::collections::VecDeque;
use std::io;
use std::task::Waker;

use http2::{Failure, Part, Request, Stream, Woken};
use model::Pace;

use super::layer::Layer;
use super::{Carrier, Load, News, ReceivedPiece};
use crate::load::http2::Heard;
use crate::load::outcome::{ConnectionCounts, Handshakes};
use link::Standing;
use links::Links;

/// Requests of a closed loop that leave together. The time noted for the first is too early by the
/// time it takes to write the others, some 2 µs each.
const REQUESTS_AT_ONCE: usize = 8;

/// The streams of one worker and their connections.
pub(in crate::load) struct StreamsCarrier<L: Layer> {
    links: Links<L>,
    slots: Vec<StreamSlot>,
    request: Request,
    /// `woken` has the slots that h2 has news of. `noticed` has those that were moved out of it to
    /// be looked at, and others whose connection changed.
    woken: Woken,
    noticed: VecDeque<usize>,
    /// The part that was received last.
    heard: Heard,
    /// Requests that were begun and have not been sent.
    waiting: usize,
    waiting_at_most: usize,
}

/// A slot, which has one stream after the other.
struct StreamSlot {
    /// Key of its connection.
    link: Option<usize>,
    stream: Option<Stream>,
    waker: Waker,
    /// The slot waits for its connection to open.
    is_opening: bool,
    /// Its request waits for a new connection to open: the previous one ended without having begun
    /// to process the request.
    is_moving: bool,
    /// Its request has moved to another connection once, which is the most that is allowed.
    has_moved: bool,
    /// Answers that had ended on its connection when its request began.
    answered_before: u64,
}

impl StreamSlot {
    fn new(waker: Waker) -> Self {
        Self {
            link: None,
            stream: None,
            waker,
            is_opening: false,
            is_moving: false,
            has_moved: false,
            answered_before: 0,
        }
    }
}

impl<L: Layer> Carrier for StreamsCarrier<L> {
    type Request = Request;
    type Input = Heard;

    const PATIENCE_NS: u64 = L::PATIENCE_NS;

    fn new(load: &Load<'_, Request>) -> io::Result<Self> {
        let request = load.constant_request.ok_or(io::ErrorKind::InvalidInput)?;
        let woken = Woken::default();
        let slots = 0..load.connections * load.streams;
        Ok(Self {
            links: Links::new(load)?,
            slots: slots
                .map(|slot| StreamSlot::new(woken.waker(slot)))
                .collect(),
            request: request.clone(),
            woken,
            noticed: VecDeque::new(),
            heard: Heard {
                part: Part::End,
                wire_bytes: 0,
            },
            waiting: 0,
            waiting_at_most: match load.pace {
                Pace::Open { .. } => 1,
                Pace::Closed if load.may_batch => usize::MAX,
                Pace::Closed => REQUESTS_AT_ONCE,
            },
        })
    }

    fn open(&mut self, slot: usize) -> io::Result<()> {
        self.attach(slot)?;
        self.slots[slot].is_opening = true;
        self.noticed.push_back(slot);
        Ok(())
    }

    fn finish_opening(&mut self, index: usize) -> io::Result<bool> {
        let slot = &mut self.slots[index];
        let key = slot.link.ok_or(io::ErrorKind::NotConnected)?;
        if !self.links.is_open_for(key, index)? {
            return Ok(false);
        }
        slot.is_opening = false;
        Ok(true)
    }

    fn close(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        let gives_up = slot.is_opening || slot.is_moving;
        (slot.is_opening, slot.is_moving) = (false, false);
        // This drop resets a stream that has not ended, and the server must be told.
        let is_reset = slot.stream.take().is_some();
        let answered_before = slot.answered_before;
        if let Some(key) = slot.link.take() {
            // The next attempt must not wait for this connection again.
            if gives_up && self.links.standing(key) == Some(Standing::Opening) {
                self.links.leave(key);
            }
            if is_reset {
                self.links.touch(key);
                if self.links.give_up_if_mute(key, answered_before) {
                    self.have_noticed(key);
                }
            }
            self.links.detach(key);
        }
    }

    fn wait(&mut self, timeout_ns: u64) -> io::Result<bool> {
        self.flush();
        let has_news = !self.noticed.is_empty() || !self.woken.is_empty();
        let has_events = self.links.wait(if has_news { 0 } else { timeout_ns })?;
        Ok(has_events || has_news)
    }

    fn next(&mut self) -> Option<(usize, News)> {
        loop {
            if self.noticed.is_empty() {
                self.woken.swap(&mut self.noticed);
            }
            while let Some(slot) = self.noticed.pop_front() {
                if let Some(news) = self.news_of(slot) {
                    return Some((slot, news));
                }
            }
            let key = self.links.hear_next()?;
            self.follow(key);
        }
    }

    /// Sends the request that the carrier was created with, which is the same each time.
    fn send(&mut self, slot: usize, _request: &Request) -> io::Result<bool> {
        self.slots[slot].has_moved = false;
        self.begin(slot)?;
        if self.waiting >= self.waiting_at_most {
            self.flush();
        }
        Ok(true)
    }

    /// Does nothing: the connection itself keeps what it has no room to send.
    fn resume(&mut self, _slot: usize, _request: &Request) -> io::Result<bool> {
        Ok(true)
    }

    fn receive(&mut self, index: usize) -> io::Result<Option<ReceivedPiece<'_, Heard>>> {
        let slot = &mut self.slots[index];
        let key = slot.link.ok_or(io::ErrorKind::NotConnected)?;
        let Some(stream) = &mut slot.stream else {
            return self.moved(index);
        };
        match stream.poll() {
            None => Ok(None),
            Some(Ok(part)) => Ok(Some(self.piece(key, part))),
            Some(Err(Failure::Unprocessed)) if !slot.has_moved => {
                self.move_on(index)?;
                Ok(None)
            }
            Some(Err(failure)) => {
                slot.stream = None;
                Err(self.links.at(key).reason(failure))
            }
        }
    }

    /// Accepts the input: on a slot without a request, it is about other streams.
    fn absorb(&mut self, _slot: usize) -> bool {
        true
    }

    fn handshakes(&self) -> Option<&Handshakes> {
        L::handshakes(&self.links.common)
    }

    fn counts(&self) -> Option<ConnectionCounts> {
        Some(self.links.counts)
    }
}

impl<L: Layer> StreamsCarrier<L> {
    /// Returns the news for a slot, which follow from the standing of its connection.
    fn news_of(&self, index: usize) -> Option<News> {
        let slot = &self.slots[index];
        let standing = self.links.standing(slot.link?)?;
        Some(match slot.is_opening {
            true => News::Room,
            false => News::Input {
                is_last: matches!(standing, Standing::Leaving | Standing::Over),
            },
        })
    }

    /// Puts a slot on the connection of its group, which is opened where there is none.
    fn attach(&mut self, slot: usize) -> io::Result<()> {
        self.slots[slot].link = Some(self.links.attach(slot)?);
        Ok(())
    }

    /// Passes the request of a slot to h2.
    fn begin(&mut self, index: usize) -> io::Result<()> {
        let slot = &mut self.slots[index];
        let key = slot.link.ok_or(io::ErrorKind::NotConnected)?;
        match self.links.begin(key, &self.request, &slot.waker) {
            Ok(stream) => {
                slot.stream = Some(stream);
                slot.answered_before = self.links.at(key).answered;
                self.waiting += 1;
                Ok(())
            }
            Err(Failure::Unprocessed) if !slot.has_moved => self.move_on(index),
            Err(failure) => Err(link::error(failure)),
        }
    }

    /// Moves a request to another connection, because the last one did not begin to process it.
    fn move_on(&mut self, index: usize) -> io::Result<()> {
        self.close(index);
        self.slots[index].has_moved = true;
        self.attach(index)?;
        let key = self.slots[index].link.ok_or(io::ErrorKind::NotConnected)?;
        match self.links.standing(key) {
            Some(Standing::Open) => self.begin(index),
            _ => {
                self.slots[index].is_moving = true;
                Ok(())
            }
        }
    }

    /// Handles a slot without a stream: `None` while its request waits for another connection, an
    /// error when the request is lost.
    fn moved(&self, index: usize) -> io::Result<Option<ReceivedPiece<'_, Heard>>> {
        let slot = &self.slots[index];
        let standing = slot.link.and_then(|key| self.links.standing(key));
        match standing {
            Some(Standing::Opening) if slot.is_moving => Ok(None),
            _ => Err(io::ErrorKind::ConnectionAborted.into()),
        }
    }

    fn piece(&mut self, key: usize, part: Part) -> ReceivedPiece<'_, Heard> {
        let may_go_on = part != Part::End;
        // Reading the data frees room in the flow-control window, which the server must be told.
        if matches!(part, Part::Data(_)) {
            self.links.touch(key);
        }
        let link = self.links.at(key);
        link.answered += u64::from(!may_go_on);
        let wire_bytes = std::mem::take(&mut link.heard_bytes);
        self.heard = Heard { part, wire_bytes };
        ReceivedPiece {
            input: &self.heard,
            may_go_on,
        }
    }

    /// Sends what waits on all connections.
    fn flush(&mut self) {
        self.waiting = 0;
        while let Some(key) = self.links.flush_next() {
            self.follow(key);
        }
    }

    /// Marks the slots of a connection that was given up, so that they notice it.
    fn have_noticed(&mut self, key: usize) {
        let slots = &self.slots;
        let candidates = self.links.slots_of(key);
        self.noticed
            .extend(candidates.filter(|slot| slots[*slot].link == Some(key)));
    }

    /// Marks the slots of a connection whose standing has changed, and begins requests that were
    /// moved to it.
    fn follow(&mut self, key: usize) {
        let Some((standing, slots)) = self.links.take_change(key) else {
            return;
        };
        for index in slots {
            if self.slots[index].link != Some(key) {
                continue;
            }
            let was_moving = std::mem::take(&mut self.slots[index].is_moving);
            if !(was_moving && standing == Standing::Open && self.begin(index).is_ok()) {
                self.noticed.push_back(index);
            }
        }
    }
}
