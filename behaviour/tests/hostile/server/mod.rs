//! Clients, and a machine, that would bring a server down that somebody leaves running.

mod certificates;
mod counted;
mod kept_up;
mod manager;
mod privileges;
mod readers;
pub(crate) mod running;
mod socket;

/// Both, as what confines one must not hinder the other.
const ENGINES: [&str; 2] = ["epoll", "uring"];
