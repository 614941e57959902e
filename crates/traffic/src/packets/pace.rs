//! Packets that leave by a clock, whatever becomes of them: an open loop.

use std::time::Duration;

use model::Histogram;
use model::workload::Arrivals;
use serde::{Deserialize, Serialize};
use sys::clock;

use super::Until;
use super::window::Window;
use crate::schedule::Schedule;

/// Time before the first packet, in which the other end gets ready to receive.
const BEFORE: Duration = Duration::from_millis(5);
/// A sleeping thread is as a rule woken late by this much at most; the last part of a wait, which
/// is this long, is spent awake.
const AWAKE_NS: u64 = 100_000;
/// In a gap longer than this, a sender checks whether the other end has gone, until this long
/// before the end of the gap.
const LONG_GAP_NS: u64 = 10_000_000;
/// Interval at which it then also checks whether we are asked to stop.
const LOOK_NS: u64 = 100_000_000;
/// What was due and has not left this long after the end is not sent: otherwise a sender that
/// cannot keep up would go on for ever.
const AFTER_NS: u64 = 100_000_000;
/// One machine has one sequence of gaps.
const SEED: u64 = 1;

/// How many packets leave, and when.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PacketPace {
    /// Packets per second.
    pub rate: f64,
    pub arrivals: Arrivals,
    /// Packets that are due together.
    pub burst: u32,
}

/// The schedule of the packets that are due.
pub(super) struct Due {
    schedule: Schedule,
    pub(super) begun_ns: u64,
    end_ns: u64,
    burst: u64,
    left: u64,
    /// How much later than due each burst began, ns.
    pub(super) late: Histogram,
}

impl Due {
    pub(super) fn begin(pace: PacketPace, until: Until) -> Self {
        let bursts = pace.rate / f64::from(pace.burst);
        let before_ns = u64::try_from(BEFORE.as_nanos()).unwrap_or_default();
        let begun_ns = clock::monotonic_ns() + before_ns;
        let (left, time) = match until {
            Until::Count(count) => (count, Duration::MAX),
            Until::Time(time) => (u64::MAX, time),
        };
        let time_ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Self {
            schedule: Schedule::new(bursts, pace.arrivals, SEED, 0, 1),
            begun_ns,
            end_ns: begun_ns.saturating_add(time_ns),
            burst: u64::from(pace.burst),
            left,
            late: Histogram::default(),
        }
    }

    /// Waits for the next burst and returns how many packets are due then: at most `most`, or one
    /// burst where that is more. Returns 0 when all is sent or the time is over, or when in a long
    /// gap the other end has gone or we are asked to stop.
    pub(super) fn wait(&mut self, most: u64, window: &Window) -> u64 {
        let due_ns = self.next_ns();
        if due_ns >= self.end_ns || self.left == 0 {
            return 0;
        }
        let mut now_ns = clock::monotonic_ns();
        if now_ns > self.end_ns.saturating_add(AFTER_NS) {
            return 0;
        }
        while now_ns + LONG_GAP_NS < due_ns {
            let look_ns = LOOK_NS.min(due_ns - now_ns - LONG_GAP_NS);
            let is_over = window.ends_within(Duration::from_nanos(look_ns));
            if is_over || sys::stop::heard().is_some() {
                return 0;
            }
            now_ns = clock::monotonic_ns();
        }
        if now_ns + 2 * AWAKE_NS < due_ns {
            clock::sleep_until_ns(due_ns - AWAKE_NS);
        }
        while now_ns < due_ns {
            std::hint::spin_loop();
            now_ns = clock::monotonic_ns();
        }
        let mut count = 0;
        while count == 0 || (count + self.burst <= most && self.next_ns() <= now_ns) {
            if self.next_ns() >= self.end_ns || count >= self.left {
                break;
            }
            self.late.record(now_ns.saturating_sub(self.next_ns()));
            self.schedule.advance();
            count += self.burst;
        }
        let count = count.min(self.left);
        self.left -= count;
        count
    }

    fn next_ns(&self) -> u64 {
        self.begun_ns.saturating_add(self.schedule.due_ns())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packets::plan::tests::udp_plan;
    use crate::packets::{ReceiveWay, SendWay};

    fn window() -> Window {
        let ways = (SendWay::Single, ReceiveWay::Single);
        let plan = udp_plan(64, ways, Until::Count(1), [0, 0]);
        Window::for_room(u64::MAX, &plan).unwrap()
    }

    #[test]
    fn as_many_are_due_as_the_rate_has_in_the_time_and_none_before() {
        let pace = PacketPace {
            rate: 20_000.0,
            arrivals: Arrivals::Uniform,
            burst: 4,
        };
        let window = window();
        let begun_ns = clock::monotonic_ns();
        let mut due = Due::begin(pace, Until::Count(1000));
        let counts: Vec<u64> =
            std::iter::from_fn(|| Some(due.wait(8, &window)).filter(|count| *count > 0)).collect();
        assert_eq!(counts.iter().sum::<u64>(), 1000);
        assert!(
            counts.iter().all(|count| [4, 8].contains(count)),
            "{counts:?}"
        );
        // The last packets are due one gap before the end of the 50 ms.
        assert!(clock::monotonic_ns() - begun_ns >= 49_000_000);
        let mut few = Due::begin(pace, Until::Count(6));
        assert_eq!(
            [
                few.wait(4, &window),
                few.wait(4, &window),
                few.wait(4, &window)
            ],
            [4, 2, 0]
        );
        // A sender that cannot keep up ends when the time has passed.
        let flood = PacketPace { rate: 1e9, ..pace };
        let mut due = Due::begin(flood, Until::Time(Duration::from_secs(3600)));
        due.end_ns = due.begun_ns + 1_000_000;
        clock::sleep_until_ns(due.end_ns + AFTER_NS + 1);
        assert_eq!(due.wait(8, &window), 0);
    }

    #[test]
    fn nobody_waits_out_a_long_gap_when_the_other_end_has_gone() {
        let pace = PacketPace {
            rate: 1.0,
            arrivals: Arrivals::Uniform,
            burst: 1024,
        };
        let window = window();
        let mut due = Due::begin(pace, Until::Time(Duration::from_secs(3600)));
        assert_eq!(due.wait(1024, &window), 1024);
        drop(window.end());
        assert_eq!(due.wait(1024, &window), 0);
    }
}
