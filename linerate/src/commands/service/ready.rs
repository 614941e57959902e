//! What `linerate service start` says once a service is ready.

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
    /// What `service stop` takes.
    name: String,
    /// What readers call it.
    title: String,
    /// What the program calls its version.
    version: String,
    /// Where it answers, ADDR:PORT; null where that is its socket alone.
    address: Option<SocketAddr>,
    /// Its port; null where it has its socket alone.
    port: Option<u16>,
    /// Path of the Unix socket that it listens on; null for none.
    socket: Option<String>,
    /// Path of the file with its password; null where it has none.
    password_file: Option<PathBuf>,
    /// The command of a shell that speaks with it; null for none.
    connect: Option<String>,
    /// What an HTTP service serves; empty for others.
    urls: Vec<String>,
    /// Its own folder, which goes with it.
    folder: String,
    /// The process of Linerate that has it in its charge; SIGTERM ends both.
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

    /// In one line for a program, in several for a reader.
    pub(super) fn shown(&self, as_json: bool) -> String {
        match as_json {
            true => shape::line(self),
            false => told::page(self, template!("service-start"), usize::MAX),
        }
    }
}
