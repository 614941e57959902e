//! `linerate serve` and `linerate echo` as their clients see them.

mod answers;
mod client;
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

/// The engine of [`server::Server::start`]. The suites that go through the engine run on the other
/// one too, in the module `serve_uring`.
const ENGINE: &str = "epoll";
