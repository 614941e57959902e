//! Clients, and a machine, that would bring a server down that somebody leaves running.
