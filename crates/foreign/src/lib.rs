//! Data that somebody else wrote: limited in size when it is read, and made harmless when it is
//! shown.
//!
//! This covers lines of other processes and hosts, files in folders that others filled, hashes of
//! them, and text for a terminal. What the data mean is not known here.

pub mod file;
pub mod line;
pub mod sha256;
mod shown;

pub use shown::{clipped, shown, shown_but};
