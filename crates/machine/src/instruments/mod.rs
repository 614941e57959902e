//! What reads counters during a block.

pub mod cpu;
pub mod cpu_series;
