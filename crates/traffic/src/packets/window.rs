//! The window between the ends: how many packets are under way, and how many may be.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{PacketError, PacketPlan, USUAL_OUTSTANDING};

/// Quarters of the receiver's buffer that can always be used: the kernel returns the room of
/// received packets only when it amounts to one quarter (`udp_rmem_release` of net/ipv4/udp.c).
const QUARTERS_THERE: u64 = 3;
/// Room that a packet takes in the kernel's buffers, including headers and the rounding to a power
/// of two, for each byte of payload and for each packet: more than `SKB_TRUESIZE` gives for any
/// size.
const ACCOUNT_PER_BYTE: u64 = 2;
const ACCOUNT_BYTES: u64 = 1_280;

/// Factor for the buffer if packets leave by a clock.
const PACED_ROOMS: u64 = 16;

/// The count of packets under way; both ends wait here for each other.
pub(super) struct Window {
    counts: Mutex<WindowCounts>,
    changed: Condvar,
    most: u64,
    burst: u64,
}

#[derive(Clone, Copy, Default)]
struct WindowCounts {
    sent: u64,
    taken: u64,
    is_over: bool,
}

impl WindowCounts {
    fn outstanding(self) -> u64 {
        self.sent.saturating_sub(self.taken)
    }
}

impl Window {
    /// Makes the window for a buffer with room for `room` packets.
    pub(super) fn for_room(room: u64, plan: &PacketPlan) -> Result<Self, PacketError> {
        let most = room.min(wanted(plan));
        let calls = calls(plan);
        let [one_send, _] = calls;
        if one_send > most {
            return Err(PacketError::NoRoom {
                packets: one_send,
                bytes: plan.largest_bytes(),
                room,
            });
        }
        Ok(Self {
            counts: Mutex::default(),
            changed: Condvar::new(),
            most,
            burst: burst(most, calls),
        })
    }

    pub(super) fn most(&self) -> u64 {
        self.most
    }

    /// Returns the number of packets that are sent in one go.
    pub(super) fn burst(&self) -> u64 {
        self.burst
    }

    /// Waits until `count` more packets may be under way; returns whether the other end is still
    /// there.
    pub(super) fn wait_for_room(&self, count: u64) -> bool {
        let is_full =
            |counts: &mut WindowCounts| !counts.is_over && counts.outstanding() + count > self.most;
        !self.wait_while(is_full).is_over
    }

    /// Waits until packets are under way and returns how many; `None` when no more will come.
    pub(super) fn wait_for_packets(&self) -> Option<u64> {
        let is_empty = |counts: &mut WindowCounts| !counts.is_over && counts.outstanding() == 0;
        let outstanding = self.wait_while(is_empty).outstanding();
        (outstanding > 0).then_some(outstanding)
    }

    /// Waits at most this long for one end to go; returns whether it has gone.
    pub(super) fn ends_within(&self, time: Duration) -> bool {
        let waited = self
            .changed
            .wait_timeout_while(self.lock(), time, |counts| !counts.is_over);
        waited.unwrap_or_else(PoisonError::into_inner).0.is_over
    }

    /// Whether one end has gone.
    pub(super) fn is_over(&self) -> bool {
        self.lock().is_over
    }

    pub(super) fn note_sent(&self, count: u64) {
        self.change(|counts| counts.sent += count);
    }

    pub(super) fn note_taken(&self, count: u64) {
        self.change(|counts| counts.taken += count);
    }

    /// Returns a guard that tells the other end when it is dropped, whatever became of this end.
    pub(super) fn end(&self) -> impl Drop + '_ {
        Ending(self)
    }

    fn wait_while(&self, waits: impl FnMut(&mut WindowCounts) -> bool) -> WindowCounts {
        let waited = self.changed.wait_while(self.lock(), waits);
        *waited.unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut WindowCounts)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, WindowCounts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Ending<'a>(&'a Window);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.change(|counts| counts.is_over = true);
    }
}

/// Returns the packets of a burst: whole calls of both ends, in half of the most that may be under
/// way if they fit, or in all of it; otherwise whole calls of the sender.
fn burst(most: u64, [one_send, one_receive]: [u64; 2]) -> u64 {
    let whole_calls = one_send / common_divisor(one_send, one_receive) * one_receive;
    let half = most / 2;
    let ways = [(whole_calls, half), (whole_calls, most), (one_send, half)];
    let fitting = ways.into_iter().find(|(step, place)| step <= place);
    fitting.map_or(one_send, |(step, place)| place / step * step)
}

/// Returns how many packets a buffer of this size holds.
pub(super) fn room_in(room_bytes: u32, plan: &PacketPlan) -> u64 {
    u64::from(room_bytes) * QUARTERS_THERE / 4 / account_bytes(plan)
}

/// Returns the buffer size to ask the kernel for, which doubles it.
pub(super) fn wanted_room_bytes(plan: &PacketPlan) -> i32 {
    let there_bytes = account_bytes(plan) * wanted(plan);
    let wanted_bytes = match plan.pace {
        // What comes while the receiver is not on its CPU must wait in the buffer.
        Some(_) => there_bytes * PACED_ROOMS,
        None => there_bytes,
    };
    i32::try_from((wanted_bytes * 4 / QUARTERS_THERE).div_ceil(2)).unwrap_or(i32::MAX)
}

/// Returns how many packets should fit: at least two calls.
fn wanted(plan: &PacketPlan) -> u64 {
    let [one_send, one_receive] = calls(plan);
    (2 * one_send.max(one_receive)).max(USUAL_OUTSTANDING)
}

/// Returns the packets of one call of the sender and of the receiver.
fn calls(plan: &PacketPlan) -> [u64; 2] {
    [plan.send.packets(), plan.receive.packets()].map(u64::from)
}

fn account_bytes(plan: &PacketPlan) -> u64 {
    plan.largest_bytes() as u64 * ACCOUNT_PER_BYTE + ACCOUNT_BYTES
}

/// Returns the largest number that divides both (Euclid's algorithm).
fn common_divisor(one: u64, other: u64) -> u64 {
    if other == 0 {
        one
    } else {
        common_divisor(other, one % other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packets::plan::tests::udp_plan;
    use crate::packets::{ReceiveWay, SendWay, Until};

    fn plan(packet_bytes: usize, send: SendWay, receive: ReceiveWay) -> PacketPlan {
        udp_plan(packet_bytes, (send, receive), Until::Count(1), [0, 0])
    }

    fn window(room_bytes: u32, send: SendWay, receive: ReceiveWay) -> Result<Window, String> {
        let plan = plan(1200, send, receive);
        Window::for_room(room_in(room_bytes, &plan), &plan).map_err(|error| error.to_string())
    }

    #[test]
    fn a_burst_is_of_whole_calls_at_both_ends_and_two_fit_the_room() {
        let burst = |send, receive| window(4_000_000, send, receive).unwrap().burst();
        assert_eq!(burst(SendWay::Single, ReceiveWay::Single), 128);
        assert_eq!(burst(SendWay::Batch(16), ReceiveWay::Batch(24)), 96);
        assert_eq!(burst(SendWay::Segments(50), ReceiveWay::Merged), 100);
        // At least whole calls of the sender.
        assert_eq!(burst(SendWay::Batch(100), ReceiveWay::Batch(33)), 100);
    }

    /// Buffer of a socket where `net.core.rmem_max` is 212,992, long the default of Linux.
    const OLD_ROOM_BYTES: u32 = 425_984;

    #[test]
    fn where_two_bursts_of_whole_calls_do_not_fit_the_room_one_is_sent_at_once() {
        let burst = |send, receive| {
            let plan = plan(1470, send, receive);
            let window = Window::for_room(room_in(OLD_ROOM_BYTES, &plan), &plan).unwrap();
            (window.most(), window.burst())
        };
        let many = ReceiveWay::Batch(42);
        assert_eq!(burst(SendWay::Single, many), (75, 42));
        assert_eq!(burst(SendWay::Batch(42), many), (75, 42));
        assert_eq!(burst(SendWay::Segments(14), many), (75, 42));
        // A burst of 84 does not fit.
        assert_eq!(burst(SendWay::Batch(28), many), (75, 28));
    }

    #[test]
    fn a_call_for_more_than_the_buffer_holds_is_refused_with_what_it_does() {
        let held = window(36_800, SendWay::Batch(7), ReceiveWay::Single).unwrap();
        assert_eq!((held.most(), held.burst()), (7, 7));
        let refused = window(36_800, SendWay::Batch(8), ReceiveWay::Single);
        let why = refused.err().unwrap();
        assert!(
            why.contains("room for 7: ask for fewer, or raise net.core.rmem_max"),
            "{why}"
        );
    }

    #[test]
    fn neither_end_waits_for_one_that_has_gone() {
        let window = window(4_000_000, SendWay::Single, ReceiveWay::Single).unwrap();
        window.note_sent(window.most());
        drop(window.end());
        assert!(!window.wait_for_room(1));
        assert_eq!(window.wait_for_packets(), Some(window.most()));
        window.note_taken(window.most());
        assert_eq!(window.wait_for_packets(), None);
    }
}
