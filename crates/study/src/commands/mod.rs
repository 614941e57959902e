//! Studies of commands: from the file to a saved run.

pub mod pull;
