//! What holds for `linerate serve` on epoll holds on io_uring: the suites that go through the engine,
//! as they stand.
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

/// What [`server::Server::start`] starts.
const ENGINE: &str = "uring";
