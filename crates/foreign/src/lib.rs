//! What somebody else wrote: bounded when it is read, and plain when it is shown.
//!
//! Lines of other processes and hosts, files in a folder that others filled, words for a terminal.
//! What they mean is not known here.

pub mod file;
pub mod line;
mod shown;

pub use shown::{clipped, shown, shown_but};
