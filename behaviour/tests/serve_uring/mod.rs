//! What holds for `linerate serve` on epoll also holds on io_uring: these are the same suites,
//! unchanged, of all that goes through the engine.
#![expect(clippy::duplicate_mod, reason = "the engine is another")]

#[path = "../serve/answers.rs"]
mod answers;
#[path = "../serve/client.rs"]
mod client;
#[path = "../serve/file_limits.rs"]
mod file_limits;
#[path = "../serve/file_ways.rs"]
mod file_ways;
#[path = "../serve/files.rs"]
mod files;
#[path = "../serve/limits.rs"]
mod limits;
mod ring;
#[path = "../serve/server.rs"]
mod server;
#[path = "../serve/stopping.rs"]
mod stopping;
#[path = "../serve/tls.rs"]
mod tls;
#[path = "../serve/tls_records.rs"]
mod tls_records;

/// The engine of [`server::Server::start`].
const ENGINE: &str = "uring";
