//! Clients, and a machine, that could bring down a server that somebody leaves running.

mod certificates;
mod counted;
mod kept_up;
mod manager;
mod privileges;
mod readers;
pub(crate) mod running;
mod socket;

/// Both engines: what confines one must not hinder the other.
const ENGINES: [&str; 2] = ["epoll", "uring"];
