//! The connections of a worker, by group: the one that new streams of the group go to, and older
//! ones that still have streams.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::os::fd::AsFd as _;
use std::task::Waker;

use http2::{Failure, Request, Stream};
use slab::Slab;
use sys::address::Address;
use sys::epoll::{Epoll, Events, Interest};

use super::link::{Link, Standing};
use crate::load::carrier::Load;
use crate::load::carrier::layer::Layer;
use crate::load::outcome::ConnectionCounts;

const EVENTS_MAX: usize = 256;

pub(super) struct Links<L: Layer> {
    epoll: Epoll,
    events: Events,
    /// Events of the last wait that have been handled.
    looked_at: usize,
    pub(super) common: L::Common,
    address: Address,
    links: Slab<Link<L>>,
    groups: Vec<LinkGroup>,
    /// Slots in each group.
    streams: usize,
    /// Links whose turn was cut short, and how many of them are heard again in the current turn.
    noted: VecDeque<usize>,
    noted_in_turn: usize,
    /// Links that may have something to send.
    touched: Vec<usize>,
    /// Standing of a link before it was last worked on.
    before: Standing,
    pub(super) counts: ConnectionCounts,
    generation: u32,
}

#[derive(Clone, Copy, Default)]
struct LinkGroup {
    /// The link that new streams go to.
    link: Option<usize>,
    was_open: bool,
}

impl<L: Layer> Links<L> {
    pub(super) fn new(load: &Load<'_, Request>) -> io::Result<Self> {
        Ok(Self {
            epoll: Epoll::new()?,
            events: Events::with_capacity(EVENTS_MAX.min(load.connections)),
            looked_at: 0,
            common: L::common(load.tls)?,
            address: load.address.clone(),
            links: Slab::new(),
            groups: vec![LinkGroup::default(); load.connections],
            streams: load.streams,
            noted: VecDeque::new(),
            noted_in_turn: 0,
            touched: Vec::new(),
            before: Standing::Opening,
            counts: ConnectionCounts::default(),
            generation: 0,
        })
    }

    /// Returns a connection that still exists.
    pub(super) fn at(&mut self, key: usize) -> &mut Link<L> {
        &mut self.links[key]
    }

    pub(super) fn standing(&self, key: usize) -> Option<Standing> {
        self.links.get(key).map(|link| link.standing)
    }

    /// Puts a slot on the connection of its group, which is opened where there is none. Returns the
    /// key of the connection.
    pub(super) fn attach(&mut self, slot: usize) -> io::Result<usize> {
        let group = slot / self.streams;
        let key = match self.groups[group].link {
            Some(key) => key,
            None => self.connect(group)?,
        };
        self.links[key].attached += 1;
        Ok(key)
    }

    /// Takes a slot off a connection. When the last slot leaves, the connection is closed unless it
    /// is open and can be used again.
    pub(super) fn detach(&mut self, key: usize) {
        let link = &mut self.links[key];
        link.attached -= 1;
        if link.attached == 0 && link.standing != Standing::Open {
            self.counts.failed += u64::from(link.standing == Standing::Opening);
            self.leave(key);
            self.links.remove(key);
        }
    }

    /// Gives up an open connection that has answered nothing since it had sent `answered_before`
    /// answers. Returns whether it did.
    pub(super) fn give_up_if_mute(&mut self, key: usize, answered_before: u64) -> bool {
        let link = &mut self.links[key];
        let is_mute = link.standing == Standing::Open && link.answered == answered_before;
        if is_mute {
            link.give_up();
            self.leave(key);
        }
        is_mute
    }

    /// Returns the slots that may be on a connection.
    pub(super) fn slots_of(&self, key: usize) -> Range<usize> {
        let group = self.links[key].group;
        group * self.streams..(group + 1) * self.streams
    }

    /// Returns whether a slot may send on this connection yet.
    ///
    /// # Errors
    /// The reason why the slot never can.
    pub(super) fn is_open_for(&self, key: usize, slot: usize) -> io::Result<bool> {
        let link = &self.links[key];
        match link.standing {
            Standing::Opening => Ok(false),
            Standing::Open if slot % self.streams < link.streams_at_once() => Ok(true),
            Standing::Open => Err(io::Error::other(format!(
                "the server takes {} streams of a connection at once",
                link.streams_at_once()
            ))),
            Standing::Leaving | Standing::Over => Err(link.refusal()),
        }
    }

    pub(super) fn begin(
        &mut self,
        key: usize,
        request: &Request,
        waker: &Waker,
    ) -> Result<Stream, Failure> {
        self.touch(key);
        self.links[key].begin(request, waker)
    }

    /// Marks a connection, so that what waits on it is sent soon.
    pub(super) fn touch(&mut self, key: usize) {
        if !std::mem::replace(&mut self.links[key].is_touched, true) {
            self.touched.push(key);
        }
    }

    /// Sends what waits on one connection and returns its key.
    pub(super) fn flush_next(&mut self) -> Option<usize> {
        let key = self.touched.pop()?;
        if let Some(link) = self.links.get_mut(key) {
            link.is_touched = false;
        }
        self.work(key, |link, common| link.flush(common));
        Some(key)
    }

    /// Waits for events of the sockets; true when there is something to hear.
    pub(super) fn wait(&mut self, timeout_ns: u64) -> io::Result<bool> {
        self.looked_at = 0;
        self.noted_in_turn = self.noted.len();
        let waits = self.noted.is_empty();
        let timeout_ns = if waits { timeout_ns } else { 0 };
        self.epoll.wait(&mut self.events, Some(timeout_ns))?;
        Ok(self.events.at(0).is_some() || !waits)
    }

    /// Reads from the next connection that the last wait reported and returns its key.
    pub(super) fn hear_next(&mut self) -> Option<usize> {
        while let Some(event) = self.events.at(self.looked_at) {
            self.looked_at += 1;
            let (key, generation) = parts(event.token);
            let link = self.links.get(key);
            if link.is_some_and(|link| link.generation == generation) {
                self.work(key, |link, common| link.hear(common, event.hung_up));
                return Some(key);
            }
        }
        self.hear_noted()
    }

    /// Goes on with the next connection whose turn was cut short before.
    fn hear_noted(&mut self) -> Option<usize> {
        while self.noted_in_turn > 0 {
            self.noted_in_turn -= 1;
            let key = self.noted.pop_front()?;
            let link = self.links.get_mut(key);
            // Another link may have taken its place by now.
            if link.is_some_and(|link| std::mem::take(&mut link.is_noted)) {
                self.work(key, |link, common| link.hear(common, false));
                return Some(key);
            }
        }
        None
    }

    /// Returns the standing that a connection got when it was last worked on, if it changed, and
    /// the slots that it may concern.
    pub(super) fn take_change(&mut self, key: usize) -> Option<(Standing, Range<usize>)> {
        let (group, now) = self
            .links
            .get(key)
            .map(|link| (link.group, link.standing))?;
        let before = std::mem::replace(&mut self.before, now);
        if before == now {
            return None;
        }
        self.count(group, before, now);
        if now != Standing::Open {
            self.leave(key);
            if self.links[key].attached == 0 {
                self.links.remove(key);
                return None;
            }
        }
        Some((now, self.slots_of(key)))
    }

    fn count(&mut self, group: usize, before: Standing, now: Standing) {
        match (before, now) {
            (Standing::Opening, Standing::Open) => {
                let was_open = std::mem::replace(&mut self.groups[group].was_open, true);
                self.counts.opened += u64::from(!was_open);
                self.counts.reopened += u64::from(was_open);
            }
            (Standing::Opening, _) => self.counts.failed += 1,
            _ => {}
        }
    }

    /// Makes new streams of the group go to another connection than this one.
    pub(super) fn leave(&mut self, key: usize) {
        let group = &mut self.groups[self.links[key].group];
        if group.link == Some(key) {
            group.link = None;
        }
    }

    fn connect(&mut self, group: usize) -> io::Result<usize> {
        let failed = &mut self.counts.failed;
        let socket = self.address.connect().inspect_err(|_| *failed += 1)?;
        self.generation = self.generation.wrapping_add(1);
        let entry = self.links.vacant_entry();
        let key = entry.key();
        let token = token(key, self.generation);
        self.epoll.add(socket.as_fd(), token, Interest::WRITE)?;
        entry.insert(Link::new(socket, group, self.generation));
        self.groups[group].link = Some(key);
        Ok(key)
    }

    fn work(&mut self, key: usize, act: impl FnOnce(&mut Link<L>, &mut L::Common)) {
        let Some(link) = self.links.get_mut(key) else {
            return;
        };
        self.before = link.standing;
        act(link, &mut self.common);
        link.watch(&self.epoll, token(key, link.generation));
        if link.can_be_heard() && !std::mem::replace(&mut link.is_noted, true) {
            self.noted.push_back(key);
        }
    }
}

fn token(key: usize, generation: u32) -> u64 {
    u64::from(generation) << 32 | key as u64
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the token holds two numbers of 32 bits each"
)]
fn parts(token: u64) -> (usize, u32) {
    ((token & u64::from(u32::MAX)) as usize, (token >> 32) as u32)
}
