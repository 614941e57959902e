//! The connections of a worker, by group: the one that new streams of it go to, and those that
//! still have some.

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
    /// Events of the last wait that were looked at.
    looked_at: usize,
    pub(super) common: L::Common,
    address: Address,
    links: Slab<Link<L>>,
    groups: Vec<LinkGroup>,
    /// Slots of a group.
    streams: usize,
    /// Links of which a turn was cut short, and how many of them are heard again in this one.
    noted: VecDeque<usize>,
    noted_in_turn: usize,
    /// Links on which something may wait to be sent.
    touched: Vec<usize>,
    /// What a link stood like before it was last worked on.
    before: Standing,
    pub(super) counts: ConnectionCounts,
    generation: u32,
}

#[derive(Clone, Copy, Default)]
struct LinkGroup {
    /// Where new streams go.
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

    /// A connection that is still there.
    pub(super) fn at(&mut self, key: usize) -> &mut Link<L> {
        &mut self.links[key]
    }

    pub(super) fn standing(&self, key: usize) -> Option<Standing> {
        self.links.get(key).map(|link| link.standing)
    }

    /// The connection of a slot's group, opened where there is none, with one slot more.
    pub(super) fn attach(&mut self, slot: usize) -> io::Result<usize> {
        let group = slot / self.streams;
        let key = match self.groups[group].link {
            Some(key) => key,
            None => self.connect(group)?,
        };
        self.links[key].attached += 1;
        Ok(key)
    }

    /// Takes a slot off a connection, which goes with the last one unless it can be used again.
    pub(super) fn detach(&mut self, key: usize) {
        let link = &mut self.links[key];
        link.attached -= 1;
        if link.attached == 0 && link.standing != Standing::Open {
            self.counts.failed += u64::from(link.standing == Standing::Opening);
            self.leave(key);
            self.links.remove(key);
        }
    }

    /// Gives a connection up that has answered nobody since it had answered so many; whether it was one.
    pub(super) fn give_up_if_mute(&mut self, key: usize, answered_before: u64) -> bool {
        let link = &mut self.links[key];
        let is_mute = link.standing == Standing::Open && link.answered == answered_before;
        if is_mute {
            link.give_up();
            self.leave(key);
        }
        is_mute
    }

    /// The slots that may be on a connection.
    pub(super) fn slots_of(&self, key: usize) -> Range<usize> {
        let group = self.links[key].group;
        group * self.streams..(group + 1) * self.streams
    }

    /// Whether a slot may send on it.
    ///
    /// # Errors
    /// Why it never will.
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

    /// Has what waits on a connection be sent soon.
    pub(super) fn touch(&mut self, key: usize) {
        if !std::mem::replace(&mut self.links[key].is_touched, true) {
            self.touched.push(key);
        }
    }

    /// Sends what waits on one connection, and says which that was.
    pub(super) fn flush_next(&mut self) -> Option<usize> {
        let key = self.touched.pop()?;
        if let Some(link) = self.links.get_mut(key) {
            link.is_touched = false;
        }
        self.work(key, |link, common| link.flush(common));
        Some(key)
    }

    /// Waits for sockets; true when there is something.
    pub(super) fn wait(&mut self, timeout_ns: u64) -> io::Result<bool> {
        self.looked_at = 0;
        self.noted_in_turn = self.noted.len();
        let waits = self.noted.is_empty();
        let timeout_ns = if waits { timeout_ns } else { 0 };
        self.epoll.wait(&mut self.events, Some(timeout_ns))?;
        Ok(self.events.at(0).is_some() || !waits)
    }

    /// Hears out the next connection that the last wait told of, and says which that was.
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

    /// Hears on one that was cut short before.
    fn hear_noted(&mut self) -> Option<usize> {
        while self.noted_in_turn > 0 {
            self.noted_in_turn -= 1;
            let key = self.noted.pop_front()?;
            let link = self.links.get_mut(key);
            // In its place there may be another by now.
            if link.is_some_and(|link| std::mem::take(&mut link.is_noted)) {
                self.work(key, |link, common| link.hear(common, false));
                return Some(key);
            }
        }
        None
    }

    /// What a connection became when it was last worked on, if that is news, and the slots that it
    /// may concern.
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

    /// Has new streams go elsewhere.
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
