//! The receiving end.

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

/// Larger than any packets that the kernel merges.
const MERGED_BYTES: usize = 1 << 16;

/// After this many bursts in a row of which nothing came, nothing will come: each costs the
/// patience of the socket.
const MOST_EMPTY_BURSTS: u32 = 5;

/// The result of the receiving end.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Received {
    /// Packets received; those that came twice are counted twice.
    pub packets: u64,
    pub bytes: u64,
    /// System calls that received; for a ring, turns at which it held something.
    pub calls: u64,
    /// CPU time of the receiving, ns.
    pub cpu_ns: u64,
    pub disorder: Disorder,
    /// Packets that came in one piece with others.
    pub merged: u64,
    /// Size of the largest piece, bytes.
    pub largest_bytes: usize,
    /// From before a packet's sending to after its receiving, ns, if there is a pace.
    pub one_way: Histogram,
    /// When the first and the last packet came, by the monotonic clock, ns, if there is a pace.
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

/// Receives until the sender has gone and nothing more has come for a while.
fn receive_all(
    incoming: &mut Incoming,
    window: &Window,
    missing: &mut Missing,
) -> Result<(), PacketError> {
    let begun_ns = clock::thread_cpu_ns();
    loop {
        // Read before waiting, so that what was sent before the end still has time to come.
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

/// Bursts in a row of which nothing came, and their packets.
#[derive(Default)]
struct Missing {
    bursts: u32,
    packets: u64,
}

impl Missing {
    /// Notes how many packets of a burst came.
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

/// The place where packets are received, and what is known of those that came.
struct Incoming {
    room: Room,
    check: PacketCheck,
    received: Received,
}

/// What each packet is checked against.
struct PacketCheck {
    sizes: PacketSizes,
    numbers: Numbers,
    patience: Duration,
    is_timed: bool,
}

/// The buffer that one call fills. It has room for one byte more than was sent, to detect packets
/// that are too large.
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
        let check = PacketCheck {
            sizes: plan.sizes.clone(),
            numbers: Numbers::new(),
            patience: super::patience(plan),
            is_timed: plan.pace.is_some(),
        };
        Self {
            room,
            check,
            received: Received::default(),
        }
    }

    /// Receives until `end` packets have come in all, or none has come for the patience.
    fn take(&mut self, end: u64) -> Result<(), PacketError> {
        while self.received.packets < end {
            let before = self.received.packets;
            match self.call(end - before) {
                Ok(()) => self.received.calls += u64::from(self.received.packets > before),
                Err(PacketError::Receiving(error)) => match error.kind() {
                    ErrorKind::WouldBlock => break,
                    // Being stopped and continued interrupts a call, whatever handles the signal
                    // (signal(7)). A refusal means that a sender elsewhere has closed its port;
                    // what came before is still to be received.
                    ErrorKind::Interrupted | ErrorKind::ConnectionRefused => {}
                    _ => return Err(PacketError::Receiving(error)),
                },
                Err(wrong) => return Err(wrong),
            }
        }
        Ok(())
    }

    /// Receives what one call gives, at most `most` packets where the call can be limited.
    fn call(&mut self, most: u64) -> Result<(), PacketError> {
        let (check, received) = (&mut self.check, &mut self.received);
        let failed = PacketError::Receiving;
        match &mut self.room {
            Room::Single(socket, buffer) => {
                let bytes = datagram::receive(socket.as_fd(), buffer).map_err(failed)?;
                let now_ns = check.now_ns();
                check.note(&buffer[..bytes], bytes, now_ns, received)
            }
            Room::Batch(socket, batch) => {
                let most = usize::try_from(most).unwrap_or(usize::MAX);
                batch.receive(socket.as_fd(), most).map_err(failed)?;
                let now_ns = check.now_ns();
                let mut packets = batch.received();
                packets.try_for_each(|packet| check.note(packet, packet.len(), now_ns, received))
            }
            Room::Merged(socket, buffer) => {
                let came = receive_merged(socket.as_fd(), buffer).map_err(failed)?;
                check.note_merged(&buffer[..came.bytes], came.segment_bytes, received)
            }
            Room::Ring(ring) => {
                let most = usize::try_from(most).unwrap_or(usize::MAX);
                let before = received.packets;
                let mut noted = Ok(());
                ring.take(most, |arrival| {
                    if let (Some(payload), true) = (frame::payload(arrival.frame), noted.is_ok()) {
                        let now_ns = check.now_ns();
                        noted = check.note(payload, arrival.bytes as usize, now_ns, received);
                    }
                });
                noted?;
                match received.packets > before || ring.wait(check.patience).map_err(failed)? {
                    true => Ok(()),
                    false => Err(failed(ErrorKind::WouldBlock.into())),
                }
            }
        }
    }
}

impl PacketCheck {
    /// Returns the time after a call, ns; 0 without a pace.
    fn now_ns(&self) -> u64 {
        if self.is_timed {
            clock::monotonic_ns()
        } else {
            0
        }
    }

    /// Notes the packets of one piece, all of one size; `segment_bytes` is `None` for a single
    /// packet.
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

    /// Notes a packet's number and time, if it is as long as the one that was sent with that
    /// number.
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
        let (mut check, mut received) = (of_eight(), Received::default());
        for (number, disorder) in [
            (0, [0, 0]),
            (2, [0, 0]),
            (1, [1, 0]),
            (2, [1, 1]),
            (3, [1, 1]),
        ] {
            check
                .note(&numbered(&[number]), 8, 0, &mut received)
                .unwrap();
            let Disorder { late, twice } = received.disorder;
            assert_eq!([late, twice], disorder, "{number}");
        }
        for wrong in [7, 9] {
            let error = check
                .note(&vec![0; wrong], wrong, 0, &mut received)
                .unwrap_err();
            assert!(matches!(error, PacketError::WrongSize { came, .. } if came == wrong));
        }
        assert_eq!(received.packets, 5);
    }

    #[test]
    fn what_was_merged_is_taken_apart_and_one_alone_was_not() {
        let (mut check, mut received) = (of_eight(), Received::default());
        let piece = numbered(&[0, 1, 2]);
        check.note_merged(&piece, Some(8), &mut received).unwrap();
        check
            .note_merged(&numbered(&[3]), None, &mut received)
            .unwrap();
        let counts = (received.packets, received.merged, received.disorder.late);
        assert_eq!(counts, (4, 3, 0));
        assert_eq!(received.largest_bytes, 24);
        let cut_short = check.note_merged(&piece[..20], Some(8), &mut received);
        assert!(cut_short.is_err());
    }
}
