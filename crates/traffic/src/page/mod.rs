//! Pages of an exact size over fresh connections: both ends, and the number of round trips that one
//! should take.

mod answer;
mod fetch;
mod rounds;
mod server;

pub use answer::SMALLEST_BYTES;
pub use fetch::{Fetched, fetch};
pub use rounds::round_trips;
pub use server::PageServer;
