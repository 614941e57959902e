//! Probes: what this machine can do at most.

pub mod cores;
mod error;

pub use error::ProbeError;
