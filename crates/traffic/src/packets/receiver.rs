//! The end that receives.

use std::io::ErrorKind;
use std::net::UdpSocket;
use std::os::fd::AsFd as _;

use sys::clock;
use sys::datagram::{Batch, receive_merged};

use super::window::Window;
use super::{PacketError, PacketPlan, ReceiveWay, SMALLEST_BYTES};

/// More than any packets that were merged.
const MERGED_BYTES: usize = 1 << 16;

/// After so many bursts in a row of which nothing came nothing will: each costs the patience of the
/// socket.
const MOST_EMPTY_BURSTS: u32 = 5;

/// What the receiver got.
#[derive(Clone, Copy, Debug, Default)]
pub struct Received {
    pub packets: u64,
    /// System calls that received.
    pub calls: u64,
    /// CPU time of the receiving, ns.
    pub cpu_ns: u64,
    /// Those that came after one with a larger number, or once more.
    pub out_of_order: u64,
    /// Those that came in one piece with others.
    pub merged: u64,
    /// The most bytes that came in one piece.
    pub largest_bytes: usize,
    /// The number that comes next.
    next: u64,
}

pub(super) fn receive(
    socket: &UdpSocket,
    plan: &PacketPlan,
    window: &Window,
) -> Result<Received, PacketError> {
    let _ends = window.end();
    let cpu = plan.receiver_cpu;
    sys::cpu::pin(&[cpu]).map_err(|source| PacketError::Pin { cpu, source })?;
    let mut incoming = Incoming::new(plan);
    let mut received = Received::default();
    let mut missing = Missing::default();
    while let Some(count) = window.wait_for_packets() {
        let before = received.packets;
        incoming.burst(socket, count, &mut received)?;
        missing.note(count, received.packets - before);
        if missing.bursts == MOST_EMPTY_BURSTS {
            return Err(missing.error());
        }
        window.note_taken(count);
    }
    if received.packets == 0 && missing.bursts > 0 {
        return Err(missing.error());
    }
    Ok(received)
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

    fn error(&self) -> PacketError {
        let packets = self.packets;
        PacketError::NoneCame { packets }
    }
}

/// Where packets are received, and how large each must be.
struct Incoming {
    room: Room,
    packet_bytes: usize,
}

/// What one call fills. A byte more than was sent shows what is too large.
enum Room {
    Single(Vec<u8>),
    Batch(Batch),
    Merged(Vec<u8>),
}

impl Incoming {
    fn new(plan: &PacketPlan) -> Self {
        let slot_bytes = plan.packet_bytes + 1;
        Self {
            packet_bytes: plan.packet_bytes,
            room: match plan.receive {
                ReceiveWay::Single => Room::Single(vec![0; slot_bytes]),
                ReceiveWay::Batch(count) => Room::Batch(Batch::new(usize::from(count), slot_bytes)),
                ReceiveWay::Merged => Room::Merged(vec![0; MERGED_BYTES]),
            },
        }
    }

    /// Receives so many, or those that have come when no other comes for longer than the socket waits.
    fn burst(
        &mut self,
        socket: &UdpSocket,
        count: u64,
        received: &mut Received,
    ) -> Result<(), PacketError> {
        let begun_ns = clock::thread_cpu_ns();
        let end = received.packets + count;
        while received.packets < end {
            match self.call(socket, end - received.packets, received) {
                Ok(()) => received.calls += 1,
                Err(PacketError::Receiving(error)) => match error.kind() {
                    ErrorKind::WouldBlock => break,
                    // As by being stopped and continued (signal(7)), whatever handles the signal.
                    ErrorKind::Interrupted => {}
                    _ => return Err(PacketError::Receiving(error)),
                },
                Err(wrong) => return Err(wrong),
            }
        }
        received.cpu_ns += clock::thread_cpu_ns() - begun_ns;
        Ok(())
    }

    /// Receives what one call gives, of so many at most where a call can be told.
    fn call(
        &mut self,
        socket: &UdpSocket,
        most: u64,
        received: &mut Received,
    ) -> Result<(), PacketError> {
        let each = self.packet_bytes;
        let failed = PacketError::Receiving;
        match &mut self.room {
            Room::Single(buffer) => {
                let bytes = socket.recv(buffer).map_err(failed)?;
                received.note(&buffer[..bytes], each)
            }
            Room::Batch(batch) => {
                let most = usize::try_from(most).unwrap_or(usize::MAX);
                batch.receive(socket.as_fd(), most).map_err(failed)?;
                let mut packets = batch.received();
                packets.try_for_each(|packet| received.note(packet, each))
            }
            Room::Merged(buffer) => {
                let came = receive_merged(socket.as_fd(), buffer).map_err(failed)?;
                received.note_merged(&buffer[..came.bytes], came.segment_bytes, each)
            }
        }
    }
}

impl Received {
    /// What came in one piece, of packets of one size; `None` where it is a single one.
    fn note_merged(
        &mut self,
        piece: &[u8],
        segment_bytes: Option<usize>,
        each: usize,
    ) -> Result<(), PacketError> {
        let before = self.packets;
        let size = segment_bytes.unwrap_or(piece.len()).max(1);
        let mut packets = piece.chunks(size);
        packets.try_for_each(|packet| self.note(packet, each))?;
        let came = self.packets - before;
        self.merged += if came > 1 { came } else { 0 };
        self.largest_bytes = self.largest_bytes.max(piece.len());
        Ok(())
    }

    /// A packet, if it has the size of those that are sent.
    fn note(&mut self, packet: &[u8], each: usize) -> Result<(), PacketError> {
        let number = packet.first_chunk::<SMALLEST_BYTES>();
        let (Some(number), true) = (number, packet.len() == each) else {
            return Err(PacketError::WrongSize {
                came: packet.len(),
                bytes: each,
            });
        };
        let number = u64::from_ne_bytes(*number);
        self.out_of_order += u64::from(number < self.next);
        self.next = self.next.max(number + 1);
        self.packets += 1;
        self.largest_bytes = self.largest_bytes.max(each);
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

    #[test]
    fn one_that_comes_late_or_twice_is_told_and_one_of_another_size_is_an_error() {
        let mut received = Received::default();
        for (number, out_of_order) in [(0, 0), (2, 0), (1, 1), (2, 2), (3, 2)] {
            received.note(&numbered(&[number]), 8).unwrap();
            assert_eq!(received.out_of_order, out_of_order, "{number}");
        }
        for wrong in [7, 9] {
            let error = received.note(&vec![0; wrong], 8).unwrap_err();
            assert!(matches!(error, PacketError::WrongSize { came, .. } if came == wrong));
        }
        assert_eq!(received.packets, 5);
    }

    #[test]
    fn what_was_merged_is_taken_apart_and_one_alone_was_not() {
        let mut received = Received::default();
        let piece = numbered(&[0, 1, 2]);
        received.note_merged(&piece, Some(8), 8).unwrap();
        received.note_merged(&numbered(&[3]), None, 8).unwrap();
        let counts = (received.packets, received.merged, received.out_of_order);
        assert_eq!(counts, (4, 3, 0));
        assert_eq!(received.largest_bytes, 24);
        let cut_short = received.note_merged(&piece[..20], Some(8), 8);
        assert!(cut_short.is_err());
    }
}
