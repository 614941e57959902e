//! Instruments: they read counters during a block.

mod behind;
pub mod carried;
mod conntrack;
pub mod counters;
pub mod cpu;
pub mod dram;
mod interrupts;
pub mod moments;
mod process_time;
pub mod senders;
pub mod stacks;
pub mod threads;
