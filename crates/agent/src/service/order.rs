//! What is asked of a keeper and what it says: one JSON value a line, each way, between two
//! processes of one program.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use model::Service;
use model::failure::Failure;
use serde::{Deserialize, Serialize};

use super::offer::Offer;

/// A service to start, and how.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) service: Service,
    /// The path of its program.
    pub(super) program: PathBuf,
    /// Its own folder, to be made.
    pub(super) folder: PathBuf,
    /// The folder that it keeps, if it has one.
    pub(super) cache: Option<PathBuf>,
    /// The address of this host on which it shall listen; `None` for its socket alone.
    pub(super) address: Option<IpAddr>,
    /// Its port there; `None` for any free one.
    pub(super) port: Option<u16>,
    pub(super) workers: u32,
    /// The CPUs it may run on; empty for those inherited.
    pub(super) cpus: Vec<usize>,
    pub(super) offer: Offer,
    /// Where its commands are run as who we are, if that is not its folder.
    #[serde(default)]
    pub(super) site: Option<PathBuf>,
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
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Up {
    /// `None` where it listens on its socket alone.
    pub(super) address: Option<SocketAddr>,
    pub(super) pid: u32,
    /// The file with its password, if it has one.
    pub(super) password_file: Option<PathBuf>,
    /// With every variable filled in.
    pub(super) service: Service,
}
