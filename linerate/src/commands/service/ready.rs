//! What `linerate service start` prints once a service is ready.

use std::net::SocketAddr;
use std::path::PathBuf;

use agent::service::register::Entry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::shape;
use crate::told::{self, template};

/// A service that is ready; one line.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Ready {
    /// Name for `service stop`.
    name: String,
    /// Title for a reader.
    title: String,
    /// Version that the program reports.
    version: String,
    /// Where it answers, ADDR:PORT; null where it has only its socket.
    address: Option<SocketAddr>,
    /// Port of that address; null where it has only its socket.
    port: Option<u16>,
    /// Path of the Unix socket that it listens on; null for none.
    socket: Option<String>,
    /// Path of the file with its password; null where it has none.
    password_file: Option<PathBuf>,
    /// Shell command that connects to it; null for none.
    connect: Option<String>,
    /// URLs that an HTTP service serves; empty for other services.
    urls: Vec<String>,
    /// Its own folder, which is removed when it ends.
    folder: String,
    /// Process of Linerate that keeps it; SIGTERM ends both.
    pid: u32,
}

impl Ready {
    pub(super) fn new(entry: &Entry, running: &agent::service::RunningService) -> Self {
        let address = running.up.address;
        let paths = running.up.service.serves.keys();
        let url = |path| Some(format!("http://{}{path}", address?));
        Self {
            name: entry.name.clone(),
            title: entry.title.clone(),
            version: entry.version.clone(),
            address,
            port: address.map(|address| address.port()),
            socket: entry.socket.clone(),
            password_file: entry.password_file.clone(),
            connect: entry.connect.clone(),
            urls: paths.filter_map(url).collect(),
            folder: entry.folder.display().to_string(),
            pid: entry.owner.pid,
        }
    }

    /// Returns one line of JSON for a program, or several lines for a reader.
    pub(super) fn shown(&self, as_json: bool) -> String {
        match as_json {
            true => shape::line(self),
            false => told::page(self, template!("service-start"), usize::MAX),
        }
    }
}
