//! What the program tells of this machine, and what it makes of one that gives less than it has.
#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests may fail as a test does"
)]

#[path = "../common/as_nobody.rs"]
mod as_nobody;
#[path = "../common/mod.rs"]
mod common;
mod confined;
mod doctor;
mod facts;
#[path = "../common/hogs.rs"]
mod hogs;
mod limits;
#[path = "../common/schema.rs"]
mod schema;
#[path = "../common/server.rs"]
mod server;
#[path = "../rig/snapshot.rs"]
mod snapshot;
mod untouched;
