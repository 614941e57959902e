//! The workers of UDP. Each datagram has iperf3's head; where the kernel can cut and merge
//! datagrams, one call carries several.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd as _;
use std::sync::atomic::Ordering;

use sys::{clock, datagram};
use wire::iperf3::{DatagramHead, UDP_ANSWER, is_udp_hello};

use super::Way;
use super::carrying::{Carrying, Pace, or_nothing};
use super::flow::{Flow, FlowCount};

/// Most datagrams into which Linux before 6.9 cuts one send.
const MOST_SEGMENTS: usize = 64;
/// Length of a burst of datagrams that are held to a rate, µs.
const BURST_US: u64 = 500;
/// `EINVAL` and `EMSGSIZE`: a kernel reports one of them for a segment that the path does not
/// carry.
const NO_SEGMENTS: [i32; 2] = [22, 90];
/// Larger than any send, bytes.
pub(super) const BUFFER_BYTES: usize = 1 << 16;

/// Sends datagrams until the test is over.
pub(super) fn send(carrying: &Carrying<'_>, flow: &Flow, socket: &UdpSocket) -> io::Result<()> {
    let each = carrying.manner.write_bytes;
    let mut segments = segments(carrying, socket);
    let mut buffer = vec![0x5a; each * segments];
    let mut pace = Pace::new(carrying);
    let mut number = 0;
    while !carrying.is_over() && pace.wait(carrying) {
        let claimed = carrying.claim(each * segments);
        let count = claimed.div_ceil(each);
        if count == 0 {
            return Ok(());
        }
        let sent_us = clock::wall_ns() / 1000;
        for datagram in buffer.chunks_exact_mut(each).take(count) {
            number += 1;
            DatagramHead { sent_us, number }.write(datagram, carrying.manner.is_wide);
        }
        match socket.send(&buffer[..count * each]) {
            Ok(bytes) => {
                flow.count.add(bytes);
                pace.sent(bytes);
                flow.count.datagrams.store(number, Ordering::Relaxed);
            }
            Err(error) => {
                number -= count as u64;
                carrying.give_back(claimed);
                let errno = error.raw_os_error();
                let is_cut = errno.is_some_and(|errno| NO_SEGMENTS.contains(&errno));
                if segments > 1 && is_cut {
                    segments = 1;
                    datagram::set_segment_bytes(socket.as_fd(), 0)?;
                } else {
                    or_full(error)?;
                }
            }
        }
    }
    Ok(())
}

/// Counts `ENOBUFS` as 0 bytes too: a device takes no more for now.
fn or_full(error: io::Error) -> io::Result<usize> {
    match error.raw_os_error() {
        Some(105) => Ok(0),
        _ => or_nothing(Err(error)),
    }
}

/// Number of datagrams to send with one call; 1 if the kernel does not cut them.
fn segments(carrying: &Carrying<'_>, socket: &UdpSocket) -> usize {
    let each = carrying.manner.write_bytes;
    let of_burst = match carrying.manner.rate_bits {
        0 => MOST_SEGMENTS,
        rate => usize::try_from(rate * BURST_US / 8_000_000).map_or(1, |bytes| bytes / each),
    };
    let segments = of_burst
        .min(datagram::MOST_BYTES / each)
        .clamp(1, MOST_SEGMENTS);
    let bytes = u16::try_from(each).unwrap_or(0);
    let is_cut = segments > 1 && datagram::set_segment_bytes(socket.as_fd(), bytes).is_ok();
    if is_cut { segments } else { 1 }
}

/// Receives datagrams until the test is over.
pub(super) fn receive(carrying: &Carrying<'_>, flow: &Flow, socket: &UdpSocket) -> io::Result<()> {
    // If the kernel cannot merge them, datagrams come one by one.
    let _ = datagram::allow_merging(socket.as_fd());
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut arrivals = Arrivals::default();
    while !carrying.is_over() {
        let merged = match datagram::receive_merged(socket.as_fd(), &mut buffer) {
            Ok(merged) => merged,
            Err(error) => {
                or_nothing(Err(error))?;
                continue;
            }
        };
        let came_us = clock::wall_ns() / 1000;
        let each = merged.segment_bytes.unwrap_or(merged.bytes).max(1);
        for datagram in buffer[..merged.bytes].chunks(each) {
            if let Some(head) = DatagramHead::read(datagram, carrying.manner.is_wide) {
                arrivals.note(head, came_us);
                flow.count.add(datagram.len());
            } else if flow.way == Way::Up && is_udp_hello(datagram) {
                // The client has not heard that its stream is open. If this answer is lost, it asks
                // again.
                let _ = socket.send(&UDP_ANSWER);
            }
        }
        arrivals.tell(&flow.count);
    }
    Ok(())
}

/// What the numbers and times of the received datagrams add up to, by iperf3's rules.
#[derive(Debug, Default)]
struct Arrivals {
    highest: u64,
    lost: u64,
    late: u64,
    jitter_us: f64,
    transit_us: Option<i64>,
}

impl Arrivals {
    fn note(&mut self, head: DatagramHead, came_us: u64) {
        match head.number > self.highest {
            true => {
                self.lost = self.lost.saturating_add(head.number - self.highest - 1);
                self.highest = head.number;
            }
            // A datagram that was counted as lost has come late.
            false => {
                self.late += 1;
                self.lost = self.lost.saturating_sub(1);
            }
        }
        // The clocks of the ends need not agree: only the variation counts (RFC 1889, A.8).
        let transit_us = came_us.wrapping_sub(head.sent_us).cast_signed();
        let before = self.transit_us.replace(transit_us).unwrap_or(transit_us);
        let change_us = transit_us.wrapping_sub(before).unsigned_abs() as f64;
        self.jitter_us += (change_us - self.jitter_us) / 16.0;
    }

    #[expect(clippy::cast_possible_truncation, reason = "a float saturates")]
    fn tell(&self, count: &FlowCount) {
        count.datagrams.store(self.highest, Ordering::Relaxed);
        count.lost.store(self.lost, Ordering::Relaxed);
        count.late.store(self.late, Ordering::Relaxed);
        let jitter_ns = (self.jitter_us * 1e3) as u64;
        count.jitter_ns.store(jitter_ns, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(numbers: &[u64]) -> Arrivals {
        let mut arrivals = Arrivals::default();
        for number in numbers {
            arrivals.note(
                DatagramHead {
                    sent_us: 5,
                    number: *number,
                },
                9,
            );
        }
        arrivals
    }

    #[test]
    fn a_number_that_is_left_out_is_lost_until_it_comes_late() {
        assert_eq!((after(&[1, 2, 5]).lost, after(&[1, 2, 5]).late), (2, 0));
        let late = after(&[1, 2, 5, 3]);
        assert_eq!((late.lost, late.late, late.highest), (1, 1, 5));
    }

    #[test]
    fn numbers_and_times_that_are_lies_are_counted_and_nothing_breaks() {
        let mut arrivals = after(&[u64::MAX, 0, u64::MAX, 1]);
        arrivals.note(
            DatagramHead {
                sent_us: u64::MAX,
                number: 7,
            },
            0,
        );
        assert!(
            arrivals.jitter_us.is_finite() && arrivals.late == 4,
            "{arrivals:?}"
        );
    }

    #[test]
    fn jitter_is_none_where_the_way_takes_the_same_time() {
        assert_eq!(after(&[1, 2, 3]).jitter_us, 0.0);
        let mut arrivals = after(&[1]);
        arrivals.note(
            DatagramHead {
                sent_us: 5,
                number: 2,
            },
            9 + 160,
        );
        assert_eq!(arrivals.jitter_us, 10.0);
    }
}
