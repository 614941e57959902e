//! How much a direction of a link may hold at once.

/// The most that the packets of one direction may take, bytes. Those of a link of 10 Gbit/s and
/// 200 ms fit; a machine that has this much to spare for each direction runs it without a thought.
pub const MOST_HELD_BYTES: u64 = 288 << 20;

/// What holding a packet takes beside its bytes, at most: its places in the queues, which grow to
/// twice of what they hold, and what the allocator rounds up.
pub(super) const BESIDE_EACH_PACKET_BYTES: u64 = 136;

/// What is held now.
#[derive(Debug, Default)]
pub(super) struct Memory {
    held_bytes: u64,
}

impl Memory {
    pub(super) fn holds(&self, bytes: u32) -> bool {
        self.held_bytes + cost(bytes) <= MOST_HELD_BYTES
    }

    pub(super) fn take(&mut self, bytes: u32) {
        self.held_bytes += cost(bytes);
    }

    pub(super) fn release(&mut self, bytes: u32) {
        self.held_bytes -= cost(bytes);
    }
}

fn cost(bytes: u32) -> u64 {
    u64::from(bytes) + BESIDE_EACH_PACKET_BYTES
}
