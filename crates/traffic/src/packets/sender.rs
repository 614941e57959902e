//! The sending end.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use model::Histogram;
use serde::{Deserialize, Serialize};
use sys::clock;
use sys::datagram::{self, Batch};
use sys::packet::TransmitRing;

use super::frame::{self, CUT_BYTES, HEADER_BYTES};
use super::pace::{Due, PacketPace};
use super::window::Window;
use super::{Outlet, PacketError, PacketPlan, PacketSizes, SMALLEST_BYTES, SendWay, Until};

/// `EINVAL` and `EMSGSIZE`: depending on its version, a kernel returns either for a segment beyond
/// the MTU.
const REFUSED: [i32; 2] = [22, 90];
/// `ENOBUFS`: the device, or the queue of the CPU at its other end, has no room.
const NO_ROOM: i32 = 105;

/// The result of the sending end.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Sent {
    pub packets: u64,
    /// System calls that sent; for a ring, those that tell the kernel to send.
    pub calls: u64,
    /// CPU time of the sending, ns.
    pub cpu_ns: u64,
    /// Start and end by the monotonic clock, ns.
    pub begun_ns: u64,
    pub ended_ns: u64,
    /// How much later than due packets left, ns, if there is a pace; one value for each burst.
    pub late: Histogram,
}

pub(super) fn send(
    outlet: Outlet,
    plan: &PacketPlan,
    window: &Window,
) -> Result<Sent, PacketError> {
    let _ends = window.end();
    let cpu = plan.sender_cpu;
    sys::cpu::pin(&[cpu]).map_err(|source| PacketError::Pin { cpu, source })?;
    let mut outgoing = Outgoing::new(plan, outlet);
    let mut sent = Sent {
        begun_ns: clock::monotonic_ns(),
        ..Sent::default()
    };
    let done = match plan.pace {
        None => send_as_they_fit(&mut outgoing, plan, window, &mut sent),
        Some(pace) => send_by_clock(&mut outgoing, plan, pace, window, &mut sent),
    };
    done.map_err(|error| refusal(plan, error))?;
    sent.ended_ns = clock::monotonic_ns();
    Ok(sent)
}

fn send_as_they_fit(
    outgoing: &mut Outgoing,
    plan: &PacketPlan,
    window: &Window,
    sent: &mut Sent,
) -> io::Result<()> {
    loop {
        let burst = plan.until.left(sent).min(window.burst());
        if burst == 0 || !window.wait_for_room(burst) {
            return Ok(());
        }
        outgoing.burst(burst, sent)?;
        window.note_sent(burst);
    }
}

fn send_by_clock(
    outgoing: &mut Outgoing,
    plan: &PacketPlan,
    pace: PacketPace,
    window: &Window,
    sent: &mut Sent,
) -> io::Result<()> {
    let mut due = Due::begin(pace, plan.until);
    sent.begun_ns = due.begun_ns;
    let most = window.burst();
    // A receiver that has failed reports the reason itself.
    while !window.is_over() && !is_stopped(sent) {
        let count = due.wait(most, window);
        if count == 0 {
            break;
        }
        outgoing.burst(count, sent)?;
        window.note_sent(count);
    }
    sent.late = due.late;
    Ok(())
}

impl Until {
    /// Returns how many packets may still be sent. A time allows at least one burst, so that there
    /// is a result to report.
    fn left(self, sent: &Sent) -> u64 {
        match self {
            _ if is_stopped(sent) => 0,
            Self::Count(all) => all.saturating_sub(sent.packets),
            Self::Time(time) => {
                let passed_ns = clock::monotonic_ns() - sent.begun_ns;
                let is_over = sent.packets > 0 && u128::from(passed_ns) >= time.as_nanos();
                if is_over { 0 } else { u64::MAX }
            }
        }
    }
}

/// Whether we are asked to stop and there is a result to report.
fn is_stopped(sent: &Sent) -> bool {
    sent.packets > 0 && sys::stop::heard().is_some()
}

fn refusal(plan: &PacketPlan, source: io::Error) -> PacketError {
    match plan.send {
        SendWay::Segments(segments) if is_refused(&source) => PacketError::Segments {
            segments,
            bytes: plan.largest_bytes(),
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

/// Makes packets and sends them.
struct Outgoing {
    maker: Maker,
    by: By,
}

/// The buffer for the packets of one call, and where they go.
enum By {
    Single(OwnedFd, Vec<u8>),
    Batch(OwnedFd, Batch, usize),
    /// The packets lie one after the other.
    Segments(OwnedFd, Segments),
    Ring(TransmitRing, Vec<u8>, usize),
}

struct Segments {
    bytes: Vec<u8>,
    /// Bytes that precede all packets.
    head_bytes: usize,
    each_bytes: usize,
}

impl Segments {
    /// Returns how many of the packets that are left one call sends.
    fn of_call(&self, left: u64) -> usize {
        at_most((self.bytes.len() - self.head_bytes) / self.each_bytes, left)
    }
}

/// Writes packets.
struct Maker {
    sizes: PacketSizes,
    /// Offset of the number in a packet.
    head_bytes: usize,
    /// Whether the headers of a frame precede it, which are written too.
    is_framed: bool,
    /// Whether each packet holds the time at which it left.
    is_timed: bool,
}

impl Maker {
    /// Writes the packet with this number into `place` and returns its length.
    fn write(&self, place: &mut [u8], number: u64, at_ns: u64) -> usize {
        let bytes = self.sizes.of_number(number);
        if self.is_framed {
            frame::write_header(place, bytes);
        }
        let head = [number, at_ns].map(u64::to_ne_bytes);
        let room = &mut place[self.head_bytes..bytes];
        for (to, from) in room.chunks_exact_mut(SMALLEST_BYTES).zip(head) {
            to.copy_from_slice(&from);
        }
        bytes
    }
}

impl Outgoing {
    fn new(plan: &PacketPlan, outlet: Outlet) -> Self {
        let (bytes, count) = (plan.largest_bytes(), usize::from(plan.send.packets()));
        let is_raw = plan.is_raw();
        let by = match outlet {
            Outlet::Ring(ring) => By::Ring(ring, vec![0; bytes], count),
            Outlet::Socket(socket) => match plan.send {
                SendWay::Batch(_) => By::Batch(socket, Batch::new(count, bytes), count),
                SendWay::Segments(_) => {
                    let [head_bytes, each_bytes] = match is_raw {
                        true => [CUT_BYTES + HEADER_BYTES, bytes - HEADER_BYTES],
                        false => [0, bytes],
                    };
                    let bytes = vec![0; head_bytes + count * each_bytes];
                    let segments = Segments {
                        bytes,
                        head_bytes,
                        each_bytes,
                    };
                    By::Segments(socket, segments)
                }
                SendWay::Single | SendWay::Ring(_) => By::Single(socket, vec![0; bytes]),
            },
        };
        // For a send that is cut, the kernel puts the headers before each packet.
        let is_cut = matches!(plan.send, SendWay::Segments(_));
        let is_framed = is_raw && !is_cut;
        let sizes = match is_raw && is_cut {
            true => PacketSizes::of(bytes - HEADER_BYTES),
            false => plan.sizes.clone(),
        };
        let head_bytes = if is_framed { HEADER_BYTES } else { 0 };
        let maker = Maker {
            sizes,
            head_bytes,
            is_framed,
            is_timed: plan.pace.is_some(),
        };
        Self { maker, by }
    }

    /// Sends `count` packets, each with its number.
    fn burst(&mut self, count: u64, sent: &mut Sent) -> io::Result<()> {
        let begun_ns = clock::thread_cpu_ns();
        let end = sent.packets + count;
        while sent.packets < end {
            sent.packets += match self.call(sent.packets, end) {
                Err(error) if error.raw_os_error() == Some(NO_ROOM) => {
                    self.dropped(end - sent.packets)
                }
                called => called?,
            };
            sent.calls += 1;
        }
        sent.cpu_ns += clock::thread_cpu_ns() - begun_ns;
        Ok(())
    }

    /// Returns how many of the packets that are left are lost with a call that found no room.
    fn dropped(&self, left: u64) -> u64 {
        match &self.by {
            By::Segments(_, segments) => segments.of_call(left) as u64,
            _ => 1,
        }
    }

    /// Sends the packets of one call, from number `from` up to `end` at most; returns how many.
    fn call(&mut self, from: u64, end: u64) -> io::Result<u64> {
        let maker = &self.maker;
        let at_ns = if maker.is_timed {
            clock::monotonic_ns()
        } else {
            0
        };
        let mut numbers = from..end;
        match &mut self.by {
            By::Single(socket, packet) => {
                let bytes = maker.write(packet, from, at_ns);
                datagram::send(socket.as_fd(), &packet[..bytes])?;
                Ok(1)
            }
            By::Batch(socket, batch, slots) => {
                let count = at_most(*slots, end - from);
                batch.fill(count, |slot| {
                    numbers
                        .next()
                        .map_or(0, |number| maker.write(slot, number, at_ns))
                });
                batch.send(socket.as_fd(), count).map(|sent| sent as u64)
            }
            By::Segments(socket, segments) => {
                let (each, count) = (segments.each_bytes, segments.of_call(end - from));
                let filled = &mut segments.bytes[..segments.head_bytes + count * each];
                let (head, payloads) = filled.split_at_mut(segments.head_bytes);
                for (number, payload) in numbers.zip(payloads.chunks_exact_mut(each)) {
                    maker.write(payload, number, at_ns);
                }
                if !head.is_empty() {
                    frame::write_cut(head, HEADER_BYTES + count * each, each);
                }
                datagram::send(socket.as_fd(), filled)?;
                Ok(count as u64)
            }
            By::Ring(ring, frame, most) => {
                let mut count = 0;
                for number in numbers.take(*most) {
                    let bytes = maker.write(frame, number, at_ns);
                    if !ring.write(&frame[..bytes]) {
                        break;
                    }
                    count += 1;
                }
                ring.send()?;
                Ok(count)
            }
        }
    }
}

fn at_most(count: usize, left: u64) -> usize {
    usize::try_from(left).map_or(count, |left| left.min(count))
}
