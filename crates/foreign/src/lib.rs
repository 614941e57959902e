//! What somebody else wrote: bounded when it is read, and plain when it is shown.
//!
//! Lines of other processes and hosts, files in a folder that others filled and the hashes that name them, words for a
//! terminal.
//! What they mean is not known here.

pub mod file;
pub mod line;
pub mod sha256;
mod shown;

pub use shown::{clipped, shown, shown_but};
