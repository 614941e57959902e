//! What reads counters during a block.

pub mod cpu;
pub mod senders;
pub mod threads;
