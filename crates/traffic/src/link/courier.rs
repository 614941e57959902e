//! The thread of one direction: takes the packets that came in at one device, and hands each to the
//! other device when it is due.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};

use model::link::{LinkReading, LinkShape};
use model::random::SplitMix64;
use sys::clock;
use sys::epoll::{Epoll, Events, Interest};
use sys::packet::Sender;

use super::direction::{Arrived, Direction, Fate};
use super::ends::Ring;

/// A packet sent later than this is late: what the link promises for 99 packets of 100.
pub(super) const LATE_NS: u64 = 200_000;

/// Packets taken in one go before due packets are sent.
const MOST_TAKEN: usize = 64;
/// Packets sent in one go before more are taken.
const MOST_SENT: usize = 32;
/// The shortest sleep. Waking costs some 5 µs of CPU time, so at high rates several packets share
/// one wake-up. Each is late by less than this, for which the limits on delay have room.
const SHORTEST_SLEEP_NS: u64 = 30_000;
/// The longest sleep without a look at the ring: a fortieth of the time in which 100,000 packets a
/// second fill it.
const LONGEST_LOOK_AWAY_NS: u64 = 1_000_000;
/// The ring is looked at no later than this long before a packet in it could be due.
const AHEAD_NS: u64 = 300_000;

/// A packet in an allocation of exactly its size, so that the memory held is what the link counts.
type Packet = Box<[u8]>;

/// One direction: where it takes packets from and where it hands them to.
pub(super) struct Courier {
    from: Ring,
    to: Sender,
    direction: Direction<Packet>,
    /// How long the ring may be left alone, ns; 0 for not at all.
    look_away_ns: u64,
    due: Vec<Arrived<Packet>>,
    unfinished: Count,
    refused: Count,
    reading: LinkReading,
}

/// Packets and their bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    packets: u64,
    bytes: u64,
}

impl Courier {
    pub(super) fn new(from: Ring, to: Sender, shape: LinkShape, random: &SplitMix64) -> Self {
        Self {
            from,
            to,
            direction: Direction::new(shape, random),
            look_away_ns: look_away_ns(&shape),
            due: Vec::with_capacity(MOST_SENT),
            unfinished: Count::default(),
            refused: Count::default(),
            reading: LinkReading::default(),
        }
    }

    /// Carries packets until `stop` is readable or its other end is closed.
    pub(super) fn drive(mut self, stop: BorrowedFd<'_>) -> io::Result<LinkReading> {
        let mut wait = Wait::new(self.from.as_fd(), stop)?;
        while !wait.is_stopped {
            let taken = self.take_arrivals();
            let sent = self.send_due();
            if taken + sent == 0 {
                self.rest(&mut wait)?;
            } else {
                wait.look()?;
            }
        }
        self.read()
    }

    /// Takes the packets that came in. Returns how many.
    fn take_arrivals(&mut self) -> usize {
        let Self {
            from,
            direction,
            unfinished,
            ..
        } = self;
        from.take(MOST_TAKEN, |came| {
            let Some(packet) = came.packet else {
                unfinished.add(came.bytes);
                return;
            };
            let _: Fate = direction.handle(came.at_ns, came.bytes, || packet.into());
        })
    }

    /// Sends the first of the packets that are due. Returns how many it dealt with.
    fn send_due(&mut self) -> usize {
        let now_ns = clock::monotonic_ns();
        let next = std::iter::from_fn(|| self.direction.poll(now_ns));
        self.due.extend(next.take(MOST_SENT));
        let mut done = 0;
        while done < self.due.len() {
            let packets = self.due[done..].iter().map(|arrived| &arrived.packet[..]);
            let sent = self.to.send(packets).unwrap_or(0);
            let left_ns = clock::monotonic_ns();
            for arrived in &self.due[done..done + sent] {
                self.reading
                    .lateness_ns
                    .record(left_ns.saturating_sub(arrived.due_ns));
            }
            done += sent;
            // A packet that the device refuses is lost, as in any device that is full.
            if sent == 0 {
                self.refused.add(self.due[done].bytes);
                done += 1;
            }
        }
        self.due.clear();
        done
    }

    /// Sleeps until there may be something to do.
    fn rest(&self, wait: &mut Wait) -> io::Result<()> {
        let Some(due_ns) = self.direction.next_due_ns() else {
            return wait.for_packet(None);
        };
        let until_due_ns = due_ns.saturating_sub(clock::monotonic_ns());
        let sleep_ns = until_due_ns.max(SHORTEST_SLEEP_NS);
        if self.look_away_ns == 0 {
            wait.for_packet(Some(sleep_ns))
        } else {
            wait.for_time(sleep_ns.min(self.look_away_ns))
        }
    }

    /// The reading at the end.
    fn read(mut self) -> io::Result<LinkReading> {
        let mut tally = self.direction.tally();
        tally.offered_packets += self.unfinished.packets;
        tally.offered_bytes += self.unfinished.bytes;
        tally.unfinished_packets = self.unfinished.packets;
        tally.refused_packets = self.refused.packets;
        tally.carried_packets -= self.refused.packets;
        tally.carried_bytes -= self.refused.bytes;
        self.reading.tally = tally;
        self.reading.missed_packets = self.from.missed()?;
        Ok(self.reading)
    }
}

impl Count {
    fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }
}

/// How long the ring may be left alone, ns. The kernel timestamps packets as they come, so a late
/// look loses nothing as long as it is before a packet is due. Where that leaves too little time
/// for a sleep, the result is 0.
fn look_away_ns(shape: &LinkShape) -> u64 {
    let skipped_ns = shape.reorder.map_or(0, |reorder| reorder.early_ns);
    let least_delay_ns = shape.delay_ns.saturating_sub(skipped_ns);
    let away_ns = least_delay_ns.saturating_sub(AHEAD_NS);
    if away_ns < SHORTEST_SLEEP_NS {
        0
    } else {
        away_ns.min(LONGEST_LOOK_AWAY_NS)
    }
}

/// Waits for packets and for the stop.
struct Wait {
    /// Watches for packets and for the stop, by the tokens below.
    all: Epoll,
    /// Watches for the stop only.
    stop_alone: Epoll,
    events: Events,
    is_stopped: bool,
}

const PACKET: u64 = 0;
const STOP: u64 = 1;

impl Wait {
    fn new(packets: BorrowedFd<'_>, stop: BorrowedFd<'_>) -> io::Result<Self> {
        let wait = Self {
            all: Epoll::new()?,
            stop_alone: Epoll::new()?,
            events: Events::with_capacity(2),
            is_stopped: false,
        };
        wait.all.add(packets, PACKET, Interest::READ)?;
        wait.all.add(stop, STOP, Interest::READ)?;
        wait.stop_alone.add(stop, STOP, Interest::READ)?;
        Ok(wait)
    }

    /// Waits until a packet comes, at most `limit_ns`.
    fn for_packet(&mut self, limit_ns: Option<u64>) -> io::Result<()> {
        self.all.wait(&mut self.events, limit_ns)?;
        self.note_stop();
        Ok(())
    }

    fn for_time(&mut self, ns: u64) -> io::Result<()> {
        self.stop_alone.wait(&mut self.events, Some(ns))?;
        self.note_stop();
        Ok(())
    }

    /// Checks for a stop without waiting.
    fn look(&mut self) -> io::Result<()> {
        self.for_time(0)
    }

    fn note_stop(&mut self) {
        self.is_stopped |= self.events.iter().any(|event| event.token == STOP);
    }
}

#[cfg(test)]
mod tests {
    use model::link::Reorder;

    use super::*;

    #[test]
    fn a_link_looks_away_for_a_sleep_or_not_at_all_and_is_back_before_a_packet_is_due() {
        for delay_ns in (0..5_000_000).step_by(1_000) {
            for early_ns in [0, delay_ns / 2] {
                let shape = LinkShape {
                    delay_ns,
                    reorder: Some(Reorder {
                        share: 0.5,
                        early_ns,
                    }),
                    ..LinkShape::default()
                };
                let away_ns = look_away_ns(&shape);
                assert!(away_ns == 0 || away_ns >= SHORTEST_SLEEP_NS, "{shape:?}");
                assert!(away_ns == 0 || away_ns + AHEAD_NS <= delay_ns - early_ns);
                assert!(away_ns <= LONGEST_LOOK_AWAY_NS);
            }
        }
    }
}
