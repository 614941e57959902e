//! What reads counters during a block.

pub mod cpu;
