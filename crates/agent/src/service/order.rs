//! What is asked of a keeper and what it says: one JSON value a line, each way, between two
//! processes of one program.

use std::net::SocketAddr;
use std::path::PathBuf;

use model::Service;
use model::failure::Failure;
use serde::{Deserialize, Serialize};

use super::Wish;

/// A service to start, and how.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) service: Service,
    /// The path of its program.
    pub(super) program: PathBuf,
    /// The folder that it keeps, if it has one.
    pub(super) cache: Option<PathBuf>,
    /// Where it has no address, it listens on its socket alone.
    pub(super) wish: Wish,
}

/// Each is answered with one word.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    /// Always the first, and only once.
    Start(Box<Order>),
    /// Is it still up?
    Check,
    /// Say this of it, with the ends of its logs.
    Blame(String),
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Word {
    Up(Box<Up>),
    /// The log that has come to its limit, if one has.
    Well {
        flooded: Option<String>,
    },
    /// Also said unasked, as the last word.
    Failed(Failure),
}

/// A service that is ready.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Up {
    /// Where it answers; `None` where that is its socket alone.
    pub address: Option<SocketAddr>,
    /// Of its own process.
    pub pid: u32,
    /// The file with its password, if it has one.
    pub password_file: Option<PathBuf>,
    /// Its description with every variable filled in.
    pub service: Service,
}
