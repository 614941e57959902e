//! Levers as an operator uses them, on a small machine with a network and a journal of its own.
#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests may fail as a test does"
)]

mod allocator;
#[path = "../common/as_nobody.rs"]
mod as_nobody;
mod behaviour;
#[expect(dead_code, reason = "a test uses what it needs of it")]
#[path = "../common/mod.rs"]
mod common;
mod drivers;
mod each;
#[path = "../common/groups.rs"]
mod groups;
mod journal;
mod killed;
mod left;
mod ordinary;
mod pages;
mod programs;
mod sandbox;
#[path = "../common/schema.rs"]
mod schema;
mod trial;
mod whose;
