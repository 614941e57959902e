//! The end that sends.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd as _;

use sys::clock;
use sys::datagram::Batch;

use super::window::Window;
use super::{PacketError, PacketPlan, SMALLEST_BYTES, SendWay, Until};

/// `EINVAL` and `EMSGSIZE`: by its version a kernel says either of a segment beyond the MTU.
const REFUSED: [i32; 2] = [22, 90];

/// What the sender did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sent {
    pub packets: u64,
    /// System calls that sent.
    pub calls: u64,
    /// CPU time of the sending, ns.
    pub cpu_ns: u64,
}

pub(super) fn send(
    socket: &UdpSocket,
    plan: &PacketPlan,
    window: &Window,
) -> Result<Sent, PacketError> {
    let _ends = window.end();
    let cpu = plan.sender_cpu;
    sys::cpu::pin(&[cpu]).map_err(|source| PacketError::Pin { cpu, source })?;
    let mut outgoing = Outgoing::new(plan);
    let mut sent = Sent::default();
    let begun_ns = clock::monotonic_ns();
    loop {
        let burst = plan.until.left(&sent, begun_ns).min(window.burst());
        if burst == 0 || !window.wait_for_room(burst) {
            return Ok(sent);
        }
        outgoing
            .burst(socket, burst, &mut sent)
            .map_err(|error| refusal(plan, error))?;
        window.note_sent(burst);
    }
}

impl Until {
    /// How many may still be sent; of a time one burst at least, so that there is something to tell.
    fn left(self, sent: &Sent, begun_ns: u64) -> u64 {
        match self {
            Self::Count(all) => all.saturating_sub(sent.packets),
            Self::Time(time) => {
                let passed_ns = clock::monotonic_ns() - begun_ns;
                let is_over = sent.packets > 0 && u128::from(passed_ns) >= time.as_nanos();
                if is_over { 0 } else { u64::MAX }
            }
        }
    }
}

fn refusal(plan: &PacketPlan, source: io::Error) -> PacketError {
    match plan.send {
        SendWay::Segments(segments) if is_refused(&source) => PacketError::Segments {
            segments,
            bytes: plan.packet_bytes,
            source,
        },
        _ => PacketError::Sending(source),
    }
}

fn is_refused(error: &io::Error) -> bool {
    error
        .raw_os_error()
        .is_some_and(|errno| REFUSED.contains(&errno))
}

/// The packets of one call.
enum Outgoing {
    Single(Vec<u8>),
    Batch(Batch, usize),
    /// One after the other, and the size of each.
    Segments(Vec<u8>, usize),
}

impl Outgoing {
    fn new(plan: &PacketPlan) -> Self {
        let (bytes, count) = (plan.packet_bytes, usize::from(plan.send.packets()));
        match plan.send {
            SendWay::Single => Self::Single(vec![0; bytes]),
            SendWay::Batch(_) => Self::Batch(Batch::new(count, bytes), count),
            SendWay::Segments(_) => Self::Segments(vec![0; count * bytes], bytes),
        }
    }

    /// Sends so many, each with its number.
    fn burst(&mut self, socket: &UdpSocket, count: u64, sent: &mut Sent) -> io::Result<()> {
        let begun_ns = clock::thread_cpu_ns();
        let end = sent.packets + count;
        while sent.packets < end {
            sent.packets += self.call(socket, sent.packets, end)?;
            sent.calls += 1;
        }
        sent.cpu_ns += clock::thread_cpu_ns() - begun_ns;
        Ok(())
    }

    /// Sends those from one number on that one call takes, of those before another; how many.
    fn call(&mut self, socket: &UdpSocket, from: u64, end: u64) -> io::Result<u64> {
        match self {
            Self::Single(packet) => {
                number(packet, from);
                socket.send(packet)?;
                Ok(1)
            }
            Self::Batch(batch, slots) => {
                let count = at_most(*slots, end - from);
                let numbered = (from..).zip(batch.datagrams_mut());
                numbered.for_each(|(at, packet)| number(packet, at));
                batch.send(socket.as_fd(), count).map(|sent| sent as u64)
            }
            Self::Segments(bytes, each) => {
                let count = at_most(bytes.len() / *each, end - from);
                let of_these = &mut bytes[..count * *each];
                let numbered = (from..).zip(of_these.chunks_exact_mut(*each));
                numbered.for_each(|(at, packet)| number(packet, at));
                socket.send(of_these)?;
                Ok(count as u64)
            }
        }
    }
}

/// Writes its number at the head of a packet, which has room for it.
fn number(packet: &mut [u8], number: u64) {
    if let Some(head) = packet.first_chunk_mut::<SMALLEST_BYTES>() {
        *head = number.to_ne_bytes();
    }
}

fn at_most(count: usize, left: u64) -> usize {
    usize::try_from(left).map_or(count, |left| left.min(count))
}
