//! Both ends of the wire: the server under test and the load that drives it.
//!
//! Nothing here knows how it is observed: the caller passes in an observer, which takes the
//! readings.

pub mod engine;
pub mod floor;
pub mod link;
pub mod load;
pub mod packets;
pub mod page;
pub mod protocol;
mod schedule;
pub mod server;
pub mod stream;
pub mod tls;
