//! Probes: the most that this machine can do.

mod calls;
pub mod cores;
mod crypto;
mod disk;
mod error;
pub mod handoff;
mod memory;
pub mod quick;
mod threads;

pub use error::ProbeError;
