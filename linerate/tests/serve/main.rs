//! `linerate serve` and `linerate echo` as their clients see them.
#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests may fail as a test does"
)]

mod answers;
mod client;
#[path = "../common/mod.rs"]
#[expect(dead_code, reason = "a test uses what it needs of it")]
mod common;
mod engines;
mod file_limits;
mod file_ways;
mod files;
mod limits;
mod server;
mod sockets;
mod stopping;
mod tls;
mod tls_records;
mod workers;
mod zero_copy;

/// What [`server::Server::start`] starts. The suites that go through the engine run on the other one
/// too, as a test program of their own.
const ENGINE: &str = "epoll";
