//! The packets that wait for a link's rate, and the limit of their queue.

use std::collections::VecDeque;

use model::link::QueueLimit;

/// When a packet has left, ns, and its length, bytes.
type Departure = (u64, u32);
pub(super) const PLACE_BYTES: usize = size_of::<Departure>();

/// The packets whose last bit has not left yet.
#[derive(Debug)]
pub(super) struct Backlog {
    limit: QueueLimit,
    waiting: VecDeque<Departure>,
    bytes: u64,
}

impl Backlog {
    pub(super) fn new(limit: QueueLimit) -> Self {
        Self {
            limit,
            waiting: VecDeque::new(),
            bytes: 0,
        }
    }

    /// Whether a packet of `bytes` that would wait for `wait_ns` finds room. The packet that is
    /// leaving no longer waits, so a queue of 0 still lets one packet after another through.
    pub(super) fn has_room(&mut self, now_ns: u64, bytes: u32, wait_ns: u64) -> bool {
        self.forget_departed(now_ns);
        let leaving = self
            .waiting
            .front()
            .map_or(0, |(_, bytes)| u64::from(*bytes));
        match self.limit {
            QueueLimit::Packets(limit) => {
                let waiting = self.waiting.len().saturating_sub(1) as u64;
                self.waiting.is_empty() || waiting < limit
            }
            QueueLimit::Bytes(limit) => {
                let waiting_bytes = self.bytes - leaving + u64::from(bytes);
                self.waiting.is_empty() || waiting_bytes <= limit
            }
            QueueLimit::WaitNs(limit_ns) => wait_ns <= limit_ns,
        }
    }

    pub(super) fn add(&mut self, left_at_ns: u64, bytes: u32) {
        self.waiting.push_back((left_at_ns, bytes));
        self.bytes += u64::from(bytes);
    }

    fn forget_departed(&mut self, now_ns: u64) {
        while let Some((left_at_ns, bytes)) = self.waiting.front().copied() {
            if left_at_ns > now_ns {
                break;
            }
            self.waiting.pop_front();
            self.bytes -= u64::from(bytes);
        }
    }
}
