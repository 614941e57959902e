//! How much a direction of a link may hold at once.

use model::link::{BESIDE_EACH_PACKET_BYTES, MOST_HELD_BYTES};

/// What is held now.
#[derive(Debug, Default)]
pub(super) struct HeldBytes {
    held_bytes: u64,
}

impl HeldBytes {
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
