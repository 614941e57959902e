//! `linerate serve` and `linerate echo` as their clients see them.

mod answers;
mod client;
mod limits;
mod server;
mod stopping;
mod workers;
