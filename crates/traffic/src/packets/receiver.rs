//! The end that receives.

use std::io::ErrorKind;
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::Duration;

use model::Histogram;
use serde::{Deserialize, Serialize};
use sys::clock;
use sys::datagram::{self, Batch, receive_merged};
use sys::packet::Receiver;

use super::apart::GREETING;
use super::numbers::{Disorder, Numbers};
use super::window::Window;
use super::{Inlet, PacketError, PacketPlan, PacketSizes, ReceiveWay, SMALLEST_BYTES, frame};

/// More than any packets that were merged.
const MERGED_BYTES: usize = 1 << 16;

/// After so many bursts in a row of which nothing came nothing will: each costs the patience of the
/// socket.
const MOST_EMPTY_BURSTS: u32 = 5;

/// What the receiver got.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Received {
    /// Those that came twice are counted twice.
    pub packets: u64,
    pub bytes: u64,
    /// System calls that received; of a ring, turns at which something stood in it.
    pub calls: u64,
    /// CPU time of the receiving, ns.
    pub cpu_ns: u64,
    pub disorder: Disorder,
    /// Those that came in one piece with others.
    pub merged: u64,
    /// The most bytes that came in one piece.
    pub largest_bytes: usize,
    /// From before a packet's sending to after its receiving, if there is a pace.
    pub one_way: Histogram,
    /// When the first and the last came, if there is a pace, by the monotonic clock.
    pub first_ns: u64,
    pub last_ns: u64,
}

pub(super) fn receive(
    inlet: Inlet,
    plan: &PacketPlan,
    window: &Window,
) -> Result<Received, PacketError> {
    let _ends = window.end();
    let cpu = plan.receiver_cpu;
    sys::cpu::pin(&[cpu]).map_err(|source| PacketError::Pin { cpu, source })?;
    let mut incoming = Incoming::new(plan, inlet);
    let mut missing = Missing::default();
    match plan.pace {
        Some(_) => receive_all(&mut incoming, window, &mut missing)?,
        None => receive_bursts(&mut incoming, window, &mut missing)?,
    }
    let is_nothing = incoming.received.packets == 0 && missing.bursts > 0;
    if is_nothing || missing.bursts == MOST_EMPTY_BURSTS {
        return Err(missing.error(plan));
    }
    Ok(incoming.received)
}

fn receive_bursts(
    incoming: &mut Incoming,
    window: &Window,
    missing: &mut Missing,
) -> Result<(), PacketError> {
    while let Some(count) = window.wait_for_packets() {
        let before = incoming.received.packets;
        let begun_ns = clock::thread_cpu_ns();
        incoming.take(before + count)?;
        incoming.received.cpu_ns += clock::thread_cpu_ns() - begun_ns;
        missing.note(count, incoming.received.packets - before);
        if missing.bursts == MOST_EMPTY_BURSTS {
            return Ok(());
        }
        window.note_taken(count);
    }
    Ok(())
}

/// Receives until the sender has gone and no more has come for a while.
fn receive_all(
    incoming: &mut Incoming,
    window: &Window,
    missing: &mut Missing,
) -> Result<(), PacketError> {
    let begun_ns = clock::thread_cpu_ns();
    loop {
        // Before the waiting: what was sent before the end then has its time to come.
        let is_over = window.is_over();
        let before = incoming.received.packets;
        incoming.take(u64::MAX)?;
        if is_over && incoming.received.packets == before {
            break;
        }
    }
    incoming.received.cpu_ns = clock::thread_cpu_ns() - begun_ns;
    let sent = window.wait_for_packets().unwrap_or_default();
    missing.note(sent, incoming.received.packets);
    Ok(())
}

/// Bursts in a row of which nothing came.
#[derive(Default)]
struct Missing {
    bursts: u32,
    packets: u64,
}

impl Missing {
    /// That of so many so many came.
    fn note(&mut self, sent: u64, came: u64) {
        if came > 0 {
            *self = Self::default();
        } else {
            self.bursts += 1;
            self.packets += sent;
        }
    }

    fn error(&self, plan: &PacketPlan) -> PacketError {
        let packets = self.packets;
        match plan.is_raw() {
            true => PacketError::NoFrames { packets },
            false => PacketError::NoneCame { packets },
        }
    }
}

/// Where packets are received, and what is known of those that came.
struct Incoming {
    room: Room,
    seen: PacketCheck,
    received: Received,
}

/// What each is held against, and what has come.
struct PacketCheck {
    sizes: PacketSizes,
    numbers: Numbers,
    patience: Duration,
    is_timed: bool,
}

/// What one call fills. A byte more than was sent shows what is too large.
enum Room {
    Single(OwnedFd, Vec<u8>),
    Batch(OwnedFd, Batch),
    Merged(OwnedFd, Vec<u8>),
    Ring(Receiver),
}

impl Incoming {
    fn new(plan: &PacketPlan, inlet: Inlet) -> Self {
        let slot_bytes = plan.largest_bytes() + 1;
        let room = match inlet {
            Inlet::Ring(ring) => Room::Ring(ring),
            Inlet::Socket(socket) => match plan.receive {
                ReceiveWay::Batch(count) => {
                    Room::Batch(socket, Batch::new(usize::from(count), slot_bytes))
                }
                ReceiveWay::Merged => Room::Merged(socket, vec![0; MERGED_BYTES]),
                ReceiveWay::Single | ReceiveWay::Ring => Room::Single(socket, vec![0; slot_bytes]),
            },
        };
        let seen = PacketCheck {
            sizes: plan.sizes.clone(),
            numbers: Numbers::new(),
            patience: super::patience(plan),
            is_timed: plan.pace.is_some(),
        };
        Self {
            room,
            seen,
            received: Received::default(),
        }
    }

    /// Receives until so many have come, or no other comes for longer than is waited.
    fn take(&mut self, end: u64) -> Result<(), PacketError> {
        while self.received.packets < end {
            let before = self.received.packets;
            match self.call(end - before) {
                Ok(()) => self.received.calls += u64::from(self.received.packets > before),
                Err(PacketError::Receiving(error)) => match error.kind() {
                    ErrorKind::WouldBlock => break,
                    // As by being stopped and continued (signal(7)), whatever handles the signal; and of a sender elsewhere
                    // that has done with its port, what came before is still to be received.
                    ErrorKind::Interrupted | ErrorKind::ConnectionRefused => {}
                    _ => return Err(PacketError::Receiving(error)),
                },
                Err(wrong) => return Err(wrong),
            }
        }
        Ok(())
    }

    /// Receives what one call gives, of so many at most where a call can be told.
    fn call(&mut self, most: u64) -> Result<(), PacketError> {
        let (seen, received) = (&mut self.seen, &mut self.received);
        let failed = PacketError::Receiving;
        match &mut self.room {
            Room::Single(socket, buffer) => {
                let bytes = datagram::receive(socket.as_fd(), buffer).map_err(failed)?;
                let now_ns = seen.now_ns();
                seen.note(&buffer[..bytes], bytes, now_ns, received)
            }
            Room::Batch(socket, batch) => {
                let most = usize::try_from(most).unwrap_or(usize::MAX);
                batch.receive(socket.as_fd(), most).map_err(failed)?;
                let now_ns = seen.now_ns();
                let mut packets = batch.received();
                packets.try_for_each(|packet| seen.note(packet, packet.len(), now_ns, received))
            }
            Room::Merged(socket, buffer) => {
                let came = receive_merged(socket.as_fd(), buffer).map_err(failed)?;
                seen.note_merged(&buffer[..came.bytes], came.segment_bytes, received)
            }
            Room::Ring(ring) => {
                let most = usize::try_from(most).unwrap_or(usize::MAX);
                let before = received.packets;
                let mut noted = Ok(());
                ring.take(most, |arrival| {
                    if let (Some(payload), true) = (frame::payload(arrival.frame), noted.is_ok()) {
                        let now_ns = seen.now_ns();
                        noted = seen.note(payload, arrival.bytes as usize, now_ns, received);
                    }
                });
                noted?;
                match received.packets > before || ring.wait(seen.patience).map_err(failed)? {
                    true => Ok(()),
                    false => Err(failed(ErrorKind::WouldBlock.into())),
                }
            }
        }
    }
}

impl PacketCheck {
    /// When a call has returned.
    fn now_ns(&self) -> u64 {
        if self.is_timed {
            clock::monotonic_ns()
        } else {
            0
        }
    }

    /// What came in one piece, of packets of one size; `None` where it is a single one.
    fn note_merged(
        &mut self,
        piece: &[u8],
        segment_bytes: Option<usize>,
        received: &mut Received,
    ) -> Result<(), PacketError> {
        let (now_ns, before) = (self.now_ns(), received.packets);
        let size = segment_bytes.unwrap_or(piece.len()).max(1);
        let mut packets = piece.chunks(size);
        packets.try_for_each(|packet| self.note(packet, packet.len(), now_ns, received))?;
        let came = received.packets - before;
        received.merged += if came > 1 { came } else { 0 };
        received.largest_bytes = received.largest_bytes.max(piece.len());
        Ok(())
    }

    /// A packet by its number and time, if it is as long as the one that was sent with that number.
    fn note(
        &mut self,
        head: &[u8],
        came: usize,
        now_ns: u64,
        received: &mut Received,
    ) -> Result<(), PacketError> {
        let (number, rest) = head.split_first_chunk::<SMALLEST_BYTES>().unzip();
        let number = number.map(|number| u64::from_ne_bytes(*number));
        if number == Some(GREETING) {
            return Ok(());
        }
        let bytes = self.sizes.of_number(number.unwrap_or_default());
        let Some(number) = number.filter(|_| came == bytes) else {
            return Err(PacketError::WrongSize { came, bytes });
        };
        self.numbers.note(number, &mut received.disorder);
        received.packets += 1;
        received.bytes += came as u64;
        received.largest_bytes = received.largest_bytes.max(came);
        let sent = rest.and_then(|rest| rest.first_chunk::<SMALLEST_BYTES>());
        if let (Some(sent), true) = (sent, self.is_timed) {
            let sent_ns = u64::from_ne_bytes(*sent);
            received.one_way.record(now_ns.saturating_sub(sent_ns));
            if received.first_ns == 0 {
                received.first_ns = now_ns;
            }
            received.last_ns = now_ns;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(numbers: &[u64]) -> Vec<u8> {
        numbers
            .iter()
            .flat_map(|number| number.to_ne_bytes())
            .collect()
    }

    fn of_eight() -> PacketCheck {
        PacketCheck {
            sizes: PacketSizes::of(8),
            numbers: Numbers::new(),
            patience: Duration::ZERO,
            is_timed: false,
        }
    }

    #[test]
    fn one_that_comes_late_or_twice_is_told_and_one_of_another_size_is_an_error() {
        let (mut seen, mut received) = (of_eight(), Received::default());
        for (number, disorder) in [
            (0, [0, 0]),
            (2, [0, 0]),
            (1, [1, 0]),
            (2, [1, 1]),
            (3, [1, 1]),
        ] {
            seen.note(&numbered(&[number]), 8, 0, &mut received)
                .unwrap();
            let Disorder { late, twice } = received.disorder;
            assert_eq!([late, twice], disorder, "{number}");
        }
        for wrong in [7, 9] {
            let error = seen
                .note(&vec![0; wrong], wrong, 0, &mut received)
                .unwrap_err();
            assert!(matches!(error, PacketError::WrongSize { came, .. } if came == wrong));
        }
        assert_eq!(received.packets, 5);
    }

    #[test]
    fn what_was_merged_is_taken_apart_and_one_alone_was_not() {
        let (mut seen, mut received) = (of_eight(), Received::default());
        let piece = numbered(&[0, 1, 2]);
        seen.note_merged(&piece, Some(8), &mut received).unwrap();
        seen.note_merged(&numbered(&[3]), None, &mut received)
            .unwrap();
        let counts = (received.packets, received.merged, received.disorder.late);
        assert_eq!(counts, (4, 3, 0));
        assert_eq!(received.largest_bytes, 24);
        let cut_short = seen.note_merged(&piece[..20], Some(8), &mut received);
        assert!(cut_short.is_err());
    }
}
