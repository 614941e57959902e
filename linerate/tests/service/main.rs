//! Services through the program: listed, shown, measured, and what happens when they misbehave.

mod addresses;
#[path = "../common/as_nobody.rs"]
mod as_nobody;
mod bench;
#[path = "../common/mod.rs"]
mod common;
mod killed;
mod listed;
mod loaded;
mod misbehaving;
mod nginx;
#[path = "../common/own_state.rs"]
mod own_state;
#[path = "../common/schema.rs"]
mod schema;
#[path = "../common/server.rs"]
mod server;
mod shipped;
mod started;
mod trusted;
