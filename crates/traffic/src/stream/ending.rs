//! When a client ends a test: after its time, or when all bytes that it should bring have come.

use std::time::Duration;

use sys::clock;

use super::account::acknowledged;
use super::flow::Flow;
use super::manner::Manner;
use super::{StreamError, StreamPlan, StreamUntil};

/// Where bytes are counted, so often is looked whether they are there.
const TURN: Duration = Duration::from_millis(2);
/// Nothing went on for so long, and no more of a held rate was due: it never ends.
const STUCK: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct TestEnding {
    until: StreamUntil,
    /// Bytes that were sent, came and were acknowledged when any last were, and when that was.
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

    /// Bytes that may be sent at all, where they are counted.
    pub(super) fn most_bytes(&self) -> Option<u64> {
        match self.until {
            StreamUntil::Time(_) => None,
            StreamUntil::Bytes(bytes) => Some(bytes),
        }
    }

    /// How long may be waited now.
    pub(super) fn turn(&self, turn: Duration, passed: Duration) -> Duration {
        match self.until {
            StreamUntil::Time(time) => turn.min(time.saturating_sub(passed)),
            StreamUntil::Bytes(_) => turn.min(TURN),
        }
    }

    /// Whether so much time has passed, or so many bytes went each way; those that are sent have also arrived.
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
        // As of iperf3, what is sent ends it where both ways are open.
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

/// Datagrams are not acknowledged, and what goes by a socket among the files is there at once.
fn has_arrived(flow: &Flow) -> bool {
    acknowledged(flow).is_none_or(|bytes| bytes >= flow.count.bytes())
}
