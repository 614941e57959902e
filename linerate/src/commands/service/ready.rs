//! What `linerate service start` says once a service is ready.

use std::net::SocketAddr;
use std::path::PathBuf;

use agent::service::register::Entry;
use serde::{Deserialize, Serialize};

use super::FORMAT;

/// See `docs/schema/service-start.json`.
#[derive(Serialize, Deserialize)]
pub(super) struct Ready {
    format: u32,
    name: String,
    title: String,
    version: String,
    address: Option<SocketAddr>,
    port: Option<u16>,
    socket: Option<String>,
    password_file: Option<PathBuf>,
    connect: Option<String>,
    /// Of what an HTTP service serves.
    urls: Vec<String>,
    folder: String,
    pid: u32,
}

impl Ready {
    pub(super) fn new(entry: &Entry, running: &agent::service::RunningService) -> Self {
        let address = running.address;
        let paths = running.service.serves.keys();
        let url = |path| Some(format!("http://{}{path}", address?));
        Self {
            format: FORMAT,
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
    pub(super) fn shown(&self, as_json: bool) -> serde_json::Result<String> {
        match as_json {
            true => serde_json::to_string(self),
            false => Ok(self.text()),
        }
    }

    fn text(&self) -> String {
        let Self {
            title,
            version,
            folder,
            ..
        } = self;
        let place = place(self.address, self.socket.as_deref()).unwrap_or_default();
        let mut lines = vec![format!("{title} {version} is ready on {place}")];
        lines.extend(self.urls.iter().map(|url| format!("  {url}")));
        let password = self.password_file.iter();
        lines.extend(password.map(|file| format!("  its password is in {}", file.display())));
        lines.extend(self.connect.iter().map(|line| format!("  {line}")));
        lines.push(format!("  its files and logs are in {folder}"));
        lines.join("\n")
    }
}

/// Where a service answers, for a reader: an address, a socket, or both.
pub(super) fn place(address: Option<SocketAddr>, socket: Option<&str>) -> Option<String> {
    let address = address.map(|address| address.to_string());
    let both = address.into_iter().chain(socket.map(str::to_owned));
    both.reduce(|address, socket| format!("{address} and {socket}"))
}
