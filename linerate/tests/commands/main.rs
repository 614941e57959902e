//! Studies of commands through the program: run, broken, stopped, killed, gone on with.
#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests may fail as a test does"
)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/hogs.rs"]
mod hogs;
#[path = "../common/schema.rs"]
mod schema;

mod broken;
mod failing;
mod lab;
mod run;
mod stopped;
mod surroundings;
