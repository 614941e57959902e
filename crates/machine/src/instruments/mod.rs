//! What reads counters during a block.

pub mod carried;
pub mod cpu;
pub mod senders;
pub mod stacks;
pub mod threads;
