//! A link in user space: delay, rate, credit, loss and reordering between two network devices, for
//! kernels without netem. Its ends are packet sockets.

mod backlog;
mod carrying;
mod courier;
mod direction;
mod doubts;
mod ends;
mod line;
#[cfg(test)]
mod tests;

pub use carrying::{Link, LinkReadings};
pub use direction::{Arrived, Direction, Fate};
pub use doubts::doubts;
