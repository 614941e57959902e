//! The carrier whose slots are streams of HTTP/2: as many of them as the load has share one
//! connection, a group, and are told apart by what h2 wakes.
//!
//! A connection that the server ends in good order keeps the streams that it has; the next request
//! of each goes to a new connection of the group, and so does one that the server did not begin with.
//! A request that is given up takes its connection along, as over HTTP/1.1, unless that has answered
//! others meanwhile.

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

/// Requests of a closed loop that leave together. The time noted for the first is as much too
/// early as it takes to write the others, some 2 µs each.
const REQUESTS_AT_ONCE: usize = 8;

/// The streams of one worker, and the connections that have them.
pub(in crate::load) struct StreamsCarrier<L: Layer> {
    links: Links<L>,
    slots: Vec<StreamSlot>,
    request: Request,
    /// Slots that h2 has news of, and those of them that were taken to be looked at, with others
    /// whose connection changed.
    woken: Woken,
    noticed: VecDeque<usize>,
    /// What was received last.
    heard: Heard,
    /// Requests that were begun and have not left.
    waiting: usize,
    waiting_at_most: usize,
}

/// One stream after the other.
struct StreamSlot {
    /// The connection that it is on, by its key.
    link: Option<usize>,
    stream: Option<Stream>,
    waker: Waker,
    /// Waits for its connection to be open.
    is_opening: bool,
    /// Its request waits for that too: another connection ended without having begun with it.
    is_moving: bool,
    /// It has done so once, which is enough.
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
        // A stream that has not ended is reset by this, and the server is to know.
        let is_reset = slot.stream.take().is_some();
        let answered_before = slot.answered_before;
        if let Some(key) = slot.link.take() {
            // The next attempt is not to wait for the same connection.
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
        let came = self.links.wait(if has_news { 0 } else { timeout_ns })?;
        Ok(came || has_news)
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

    /// It is the request that the carrier has had from the beginning.
    fn send(&mut self, slot: usize, _request: &Request) -> io::Result<bool> {
        self.slots[slot].has_moved = false;
        self.begin(slot)?;
        if self.waiting >= self.waiting_at_most {
            self.flush();
        }
        Ok(true)
    }

    /// What a connection has no room for waits in it.
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

    /// What came on the connection of a slot without a request is about others.
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
    /// What a slot is to be told, by what has become of its connection meanwhile.
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

    /// Gives h2 the request of a slot.
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

    /// Sends a request again, on another connection than the one that did not begin with it.
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

    /// Where a request is that has no stream: on its way to another connection, or lost.
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
        // What was taken makes room, of which the server is to know.
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

    /// Has the slots of a connection notice that it was given up.
    fn have_noticed(&mut self, key: usize) {
        let slots = &self.slots;
        let its = self.links.slots_of(key);
        self.noticed
            .extend(its.filter(|slot| slots[*slot].link == Some(key)));
    }

    /// Has the slots of a connection notice that something has become of it.
    fn follow(&mut self, key: usize) {
        let Some((standing, slots)) = self.links.take_change(key) else {
            return;
        };
        for index in slots {
            if self.slots[index].link != Some(key) {
                continue;
            }
            let moves = std::mem::take(&mut self.slots[index].is_moving);
            if !(moves && standing == Standing::Open && self.begin(index).is_ok()) {
                self.noticed.push_back(index);
            }
        }
    }
}
