//! `linerate serve` and `linerate echo` as their clients see them.
#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests may fail as a test does"
)]

mod answers;
mod client;
mod limits;
mod server;
mod stopping;
mod workers;
