//! The end that receives.

use std::io::ErrorKind;
use std::net::UdpSocket;
use std::os::fd::AsFd as _;

use sys::clock;
use sys::datagram::{Batch, receive_merged};

use super::window::Window;
use super::{DatagramError, DatagramPlan, ReceiveWay, SMALLEST_BYTES};

/// More than any datagrams that were merged.
const MERGED_BYTES: usize = 1 << 16;

/// After so many bursts in a row of which nothing came nothing will: each costs the patience of the
/// socket.
const MOST_EMPTY_BURSTS: u32 = 5;

/// What the receiver got.
#[derive(Clone, Copy, Debug, Default)]
pub struct Received {
    pub datagrams: u64,
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
    plan: &DatagramPlan,
    window: &Window,
) -> Result<Received, DatagramError> {
    let _ends = window.end();
    let cpu = plan.receiver_cpu;
    sys::cpu::pin(&[cpu]).map_err(|source| DatagramError::Pin { cpu, source })?;
    let mut incoming = Incoming::new(plan);
    let mut received = Received::default();
    let mut missing = Missing::default();
    while let Some(count) = window.wait_for_datagrams() {
        let before = received.datagrams;
        incoming.burst(socket, count, &mut received)?;
        missing.note(count, received.datagrams - before);
        if missing.bursts == MOST_EMPTY_BURSTS {
            return Err(missing.error());
        }
        window.note_taken(count);
    }
    if received.datagrams == 0 && missing.bursts > 0 {
        return Err(missing.error());
    }
    Ok(received)
}

/// Bursts in a row of which nothing came.
#[derive(Default)]
struct Missing {
    bursts: u32,
    datagrams: u64,
}

impl Missing {
    /// That of so many so many came.
    fn note(&mut self, sent: u64, came: u64) {
        if came > 0 {
            *self = Self::default();
        } else {
            self.bursts += 1;
            self.datagrams += sent;
        }
    }

    fn error(&self) -> DatagramError {
        let datagrams = self.datagrams;
        DatagramError::NoneCame { datagrams }
    }
}

/// Where datagrams are received, and how large each must be.
struct Incoming {
    room: Room,
    datagram_bytes: usize,
}

/// What one call fills. A byte more than was sent shows what is too large.
enum Room {
    Single(Vec<u8>),
    Batch(Batch),
    Merged(Vec<u8>),
}

impl Incoming {
    fn new(plan: &DatagramPlan) -> Self {
        let slot_bytes = plan.datagram_bytes + 1;
        Self {
            datagram_bytes: plan.datagram_bytes,
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
    ) -> Result<(), DatagramError> {
        let begun_ns = clock::thread_cpu_ns();
        let end = received.datagrams + count;
        while received.datagrams < end {
            match self.call(socket, end - received.datagrams, received) {
                Ok(()) => received.calls += 1,
                Err(DatagramError::Receiving(error)) => match error.kind() {
                    ErrorKind::WouldBlock => break,
                    // As by being stopped and continued (signal(7)), whatever handles the signal.
                    ErrorKind::Interrupted => {}
                    _ => return Err(DatagramError::Receiving(error)),
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
    ) -> Result<(), DatagramError> {
        let each = self.datagram_bytes;
        let failed = DatagramError::Receiving;
        match &mut self.room {
            Room::Single(buffer) => {
                let bytes = socket.recv(buffer).map_err(failed)?;
                received.note(&buffer[..bytes], each)
            }
            Room::Batch(batch) => {
                let most = usize::try_from(most).unwrap_or(usize::MAX);
                batch.receive(socket.as_fd(), most).map_err(failed)?;
                let mut datagrams = batch.received();
                datagrams.try_for_each(|datagram| received.note(datagram, each))
            }
            Room::Merged(buffer) => {
                let came = receive_merged(socket.as_fd(), buffer).map_err(failed)?;
                received.note_merged(&buffer[..came.bytes], came.segment_bytes, each)
            }
        }
    }
}

impl Received {
    /// What came in one piece, of datagrams of one size; `None` where it is a single one.
    fn note_merged(
        &mut self,
        piece: &[u8],
        segment_bytes: Option<usize>,
        each: usize,
    ) -> Result<(), DatagramError> {
        let before = self.datagrams;
        let size = segment_bytes.unwrap_or(piece.len()).max(1);
        let mut datagrams = piece.chunks(size);
        datagrams.try_for_each(|datagram| self.note(datagram, each))?;
        let came = self.datagrams - before;
        self.merged += if came > 1 { came } else { 0 };
        self.largest_bytes = self.largest_bytes.max(piece.len());
        Ok(())
    }

    /// A datagram, if it has the size of those that are sent.
    fn note(&mut self, datagram: &[u8], each: usize) -> Result<(), DatagramError> {
        let number = datagram.first_chunk::<SMALLEST_BYTES>();
        let (Some(number), true) = (number, datagram.len() == each) else {
            return Err(DatagramError::WrongSize {
                came: datagram.len(),
                bytes: each,
            });
        };
        let number = u64::from_ne_bytes(*number);
        self.out_of_order += u64::from(number < self.next);
        self.next = self.next.max(number + 1);
        self.datagrams += 1;
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
            assert!(matches!(error, DatagramError::WrongSize { came, .. } if came == wrong));
        }
        assert_eq!(received.datagrams, 5);
    }

    #[test]
    fn what_was_merged_is_taken_apart_and_one_alone_was_not() {
        let mut received = Received::default();
        let piece = numbered(&[0, 1, 2]);
        received.note_merged(&piece, Some(8), 8).unwrap();
        received.note_merged(&numbered(&[3]), None, 8).unwrap();
        let counts = (received.datagrams, received.merged, received.out_of_order);
        assert_eq!(counts, (4, 3, 0));
        assert_eq!(received.largest_bytes, 24);
        let cut_short = received.note_merged(&piece[..20], Some(8), 8);
        assert!(cut_short.is_err());
    }
}
