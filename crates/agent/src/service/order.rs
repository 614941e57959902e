//! The requests to a keeper and its words: one JSON value per line each way, between two processes
//! of one program.

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
    /// Its cache folder, if it has one.
    pub(super) cache: Option<PathBuf>,
    /// How it is to be started. Without an address in it, the service listens on its socket alone.
    pub(super) wish: Wish,
}

/// A request to a keeper, which answers each with one word.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    /// Always the first, and only once.
    Start(Box<Order>),
    /// Asks whether the service is still up.
    Check,
    /// Asks for a failure with these words and the ends of the service's logs.
    Blame(String),
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Word {
    Up(Box<Up>),
    /// The service is up; `flooded` is the log that has reached its limit, if one has.
    Well {
        flooded: Option<String>,
    },
    /// Also said unasked, as the last word.
    Failed(Failure),
}

/// A service that is ready.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Up {
    /// The address at which it answers; `None` where it listens on its socket alone.
    pub address: Option<SocketAddr>,
    /// Number of the process that was started.
    pub pid: u32,
    /// The file with its password, if it has one.
    pub password_file: Option<PathBuf>,
    /// Its description with every variable filled in.
    pub service: Service,
}
