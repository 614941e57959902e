//! Services through the program: listed, shown, measured, and what happens when they misbehave.

mod addresses;
mod bench;
mod killed;
pub(crate) mod likeness;
mod listed;
mod loaded;
mod misbehaving;
mod nginx;
mod shipped;
mod started;
mod trusted;
mod versions;
