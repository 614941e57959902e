//! When a client ends a test: after its time, or when all its bytes have arrived.

use std::time::Duration;

use sys::clock;

use super::account::acknowledged;
use super::flow::Flow;
use super::manner::Manner;
use super::{StreamError, StreamPlan, StreamUntil};

/// How often to check whether the bytes are there, in a test that ends after a number of bytes.
const TURN: Duration = Duration::from_millis(2);
/// A test in which nothing moves for this long never ends. At a held rate the time of two writes is
/// added.
const STUCK: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct TestEnding {
    until: StreamUntil,
    /// Sum of the bytes sent, received and acknowledged; `since_ns` is when it last changed.
    moved: u64,
    since_ns: u64,
    longest_pause: Duration,
}

impl TestEnding {
    pub(super) fn of(plan: &StreamPlan, manner: &Manner) -> Self {
        let bits = manner.write_bytes as u64 * 8;
        let of_two = |rate: u64| Duration::from_secs(2 * bits / rate);
        Self {
            until: plan.until,
            moved: 0,
            since_ns: clock::monotonic_ns(),
            longest_pause: STUCK + plan.asked_bits().map_or(Duration::ZERO, of_two),
        }
    }

    /// Most bytes that may be sent; `None` if the test ends after a time.
    pub(super) fn most_bytes(&self) -> Option<u64> {
        match self.until {
            StreamUntil::Time(_) => None,
            StreamUntil::Bytes(bytes) => Some(bytes),
        }
    }

    /// Longest wait until the next check.
    pub(super) fn turn(&self, turn: Duration, passed: Duration) -> Duration {
        match self.until {
            StreamUntil::Time(time) => turn.min(time.saturating_sub(passed)),
            StreamUntil::Bytes(_) => turn.min(TURN),
        }
    }

    /// Whether the time has passed, or the wanted bytes have gone; bytes that are sent must also
    /// have arrived.
    pub(super) fn is_over(
        &mut self,
        passed: Duration,
        flows: &[Flow],
    ) -> Result<bool, StreamError> {
        let wanted = match self.until {
            StreamUntil::Time(time) => return Ok(passed >= time),
            StreamUntil::Bytes(bytes) => bytes,
        };
        let of = |sends: bool| flows.iter().filter(move |flow| flow.sends == sends);
        let sum = |sends: bool| of(sends).map(|flow| flow.count.bytes()).sum::<u64>();
        let [came, sent] = [false, true].map(sum);
        let mut moved = came + sent;
        // With both ways open the bytes sent end the test, as with iperf3.
        let is_over = match of(true).count() {
            0 => came >= wanted,
            _ if sent < wanted => false,
            _ => {
                moved += of(true).filter_map(acknowledged).sum::<u64>();
                of(true).all(has_arrived)
            }
        };
        let now_ns = clock::monotonic_ns();
        if moved != self.moved {
            (self.moved, self.since_ns) = (moved, now_ns);
        }
        let pause = Duration::from_nanos(now_ns - self.since_ns);
        match pause > self.longest_pause && !is_over {
            true => Err(StreamError::Stuck {
                seconds: pause.as_secs(),
            }),
            false => Ok(is_over),
        }
    }
}

/// Whether what was sent has arrived. Datagrams are not acknowledged, and bytes sent over a Unix
/// socket are there at once.
fn has_arrived(flow: &Flow) -> bool {
    acknowledged(flow).is_none_or(|bytes| bytes >= flow.count.bytes())
}
