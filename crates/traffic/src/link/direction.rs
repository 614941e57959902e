//! One direction of a link, without a clock or a socket: packets go in at given times, and come out
//! when they are due.

use std::collections::VecDeque;

use model::link::{BESIDE_EACH_PACKET_BYTES, LinkShape, LinkTally, MOST_HELD_BYTES};
use model::random::SplitMix64;

use super::backlog::{self, Backlog};
use super::line::Line;

/// What became of a packet that came to the near end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrives at the far end at this time, ns.
    Due(u64),
    /// Lost by chance.
    Lost,
    /// The queue was full.
    Dropped,
    /// There was no memory for it.
    Unheld,
}

/// A packet that has arrived at the far end.
#[derive(Debug)]
pub struct Arrived<P> {
    /// When it arrives, ns.
    pub due_ns: u64,
    /// Its length as given when it came, bytes.
    pub bytes: u32,
    pub packet: P,
}

/// One direction of a link. `P` is the packet that is carried; only the caller looks into it.
#[derive(Debug)]
pub struct Direction<P> {
    shape: LinkShape,
    line: Option<Line>,
    backlog: Backlog,
    /// Memory of all packets that are held now.
    held_bytes: u64,
    loss: Chance,
    reorder: Chance,
    /// Packets with the whole delay, and packets that skip some of it. Each queue is in the order
    /// in which its packets are due, since all of a kind have the same delay.
    punctual: VecDeque<HeldPacket<P>>,
    early: VecDeque<HeldPacket<P>>,
    /// The latest time given by the caller, ns.
    now_ns: u64,
    taken: u64,
    tally: LinkTally,
}

#[derive(Debug)]
struct HeldPacket<P> {
    due_ns: u64,
    /// Its number in the order in which packets came.
    place: u64,
    bytes: u32,
    packet: P,
}

/// The allocator's own header of 8 bytes before each packet, and its rounding up to 16 (malloc of
/// the GNU C library).
const ALLOCATOR_BYTES: usize = 24;
const MOST_BESIDE_BYTES: usize =
    2 * (size_of::<HeldPacket<Box<[u8]>>>() + backlog::PLACE_BYTES) + ALLOCATOR_BYTES;
const _: () = assert!(
    MOST_BESIDE_BYTES as u64 <= BESIDE_EACH_PACKET_BYTES,
    "what is held is counted in full"
);

impl<P> Direction<P> {
    /// Makes an empty link that draws its losses from `random`. The shape must have passed the
    /// check of a [`model::link::LinkPlan`].
    pub fn new(shape: LinkShape, random: &SplitMix64) -> Self {
        let reorder_share = shape.reorder.map_or(0.0, |reorder| reorder.share);
        Self {
            shape,
            line: shape.rate.map(Line::new),
            backlog: Backlog::new(shape.queue),
            held_bytes: 0,
            // Separate random streams: with another loss the same packets are early.
            loss: Chance::new(shape.loss_share, random.clone().stream(0)),
            reorder: Chance::new(reorder_share, random.clone().stream(1)),
            punctual: VecDeque::new(),
            early: VecDeque::new(),
            now_ns: 0,
            taken: 0,
            tally: LinkTally::default(),
        }
    }

    /// Takes a packet of `bytes` that came to the near end at `now_ns`. `packet` makes what is to
    /// be carried, and is called only if the packet is carried. A time earlier than that of a
    /// previous call counts as that previous time.
    pub fn handle(&mut self, now_ns: u64, bytes: u32, packet: impl FnOnce() -> P) -> Fate {
        self.now_ns = self.now_ns.max(now_ns);
        self.tally.offered_packets += 1;
        self.tally.offered_bytes += u64::from(bytes);
        if !self.has_room(bytes) {
            self.tally.dropped_packets += 1;
            return Fate::Dropped;
        }
        if self.held_bytes + cost(bytes) > MOST_HELD_BYTES {
            self.tally.unheld_packets += 1;
            return Fate::Unheld;
        }
        let left_at_ns = self.leave(bytes);
        let is_early = self.reorder.strikes();
        // A lost packet has used its time on the line, as a damaged one does.
        if self.loss.strikes() {
            self.tally.lost_packets += 1;
            return Fate::Lost;
        }
        let due_ns = left_at_ns + self.delay_ns(is_early);
        self.hold(due_ns, is_early, bytes, packet());
        Fate::Due(due_ns)
    }

    /// Returns the next packet that has arrived at the far end by `now_ns`, if any.
    pub fn poll(&mut self, now_ns: u64) -> Option<Arrived<P>> {
        let is_early = self.next_is_early();
        let queue = if is_early {
            &mut self.early
        } else {
            &mut self.punctual
        };
        let held = queue.pop_front_if(|held| held.due_ns <= now_ns)?;
        let older = self
            .punctual
            .front()
            .is_some_and(|other| other.place < held.place);
        self.tally.overtook_packets += u64::from(is_early && older);
        self.tally.carried_packets += 1;
        self.tally.carried_bytes += u64::from(held.bytes);
        self.held_bytes -= cost(held.bytes);
        Some(Arrived {
            due_ns: held.due_ns,
            bytes: held.bytes,
            packet: held.packet,
        })
    }

    /// When [`Self::poll`] will return the next packet, ns; `None` while nothing is under way.
    pub fn next_due_ns(&self) -> Option<u64> {
        let queues = [&self.punctual, &self.early];
        queues
            .iter()
            .filter_map(|queue| Some(queue.front()?.due_ns))
            .min()
    }

    /// What became of the packets so far.
    pub fn tally(&self) -> LinkTally {
        LinkTally {
            held_packets: (self.punctual.len() + self.early.len()) as u64,
            ..self.tally
        }
    }

    fn has_room(&mut self, bytes: u32) -> bool {
        let Some(line) = &self.line else {
            return true;
        };
        let wait_ns = line.start_ns(self.now_ns, bytes) - self.now_ns;
        self.backlog.has_room(self.now_ns, bytes, wait_ns)
    }

    /// Puts the packet on the line. Returns when its last bit has left the near end, ns.
    fn leave(&mut self, bytes: u32) -> u64 {
        let Some(line) = &mut self.line else {
            return self.now_ns;
        };
        let left_at_ns = line.take(self.now_ns, bytes);
        self.backlog.add(left_at_ns, bytes);
        left_at_ns
    }

    fn delay_ns(&self, is_early: bool) -> u64 {
        let skipped = self.shape.reorder.filter(|_| is_early);
        let skipped_ns = skipped.map_or(0, |reorder| reorder.early_ns);
        self.shape.delay_ns.saturating_sub(skipped_ns)
    }

    fn hold(&mut self, due_ns: u64, is_early: bool, bytes: u32, packet: P) {
        self.held_bytes += cost(bytes);
        self.taken += 1;
        let queue = if is_early {
            &mut self.early
        } else {
            &mut self.punctual
        };
        queue.push_back(HeldPacket {
            due_ns,
            place: self.taken,
            bytes,
            packet,
        });
    }

    /// Whether the next packet due is an early one. Of two that are due at once, the one that came
    /// first is next.
    fn next_is_early(&self) -> bool {
        let order =
            |queue: &VecDeque<HeldPacket<P>>| queue.front().map(|held| (held.due_ns, held.place));
        match (order(&self.punctual), order(&self.early)) {
            (Some(punctual), Some(early)) => early < punctual,
            (_, early) => early.is_some(),
        }
    }
}

/// Memory that a packet occupies while it is held, bytes.
fn cost(bytes: u32) -> u64 {
    u64::from(bytes) + BESIDE_EACH_PACKET_BYTES
}

/// An event that happens to each packet with the same probability.
#[derive(Debug)]
struct Chance {
    share: f64,
    random: SplitMix64,
}

impl Chance {
    fn new(share: f64, random: SplitMix64) -> Self {
        Self { share, random }
    }

    fn strikes(&mut self) -> bool {
        // No number is drawn where the share is 0: most links lose nothing.
        self.share > 0.0 && self.random.open_unit() <= self.share
    }
}
