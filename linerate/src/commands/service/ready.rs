//! What `linerate service start` says once a service is ready.

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
    address: String,
    port: u16,
    socket: Option<String>,
    /// Of what an HTTP service serves.
    urls: Vec<String>,
    folder: String,
    pid: u32,
}

impl Ready {
    pub(super) fn new(entry: &Entry, running: &agent::service::RunningService) -> Self {
        let address = running.address;
        let paths = running.service.serves.keys();
        Self {
            format: FORMAT,
            name: entry.name.clone(),
            title: entry.title.clone(),
            version: entry.version.clone(),
            address: address.to_string(),
            port: address.port(),
            socket: entry.socket.clone(),
            urls: paths
                .map(|path| format!("http://{address}{path}"))
                .collect(),
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
            address,
            folder,
            ..
        } = self;
        let mut lines = vec![format!("{title} {version} is ready on {address}")];
        lines.extend(self.urls.iter().map(|url| format!("  {url}")));
        lines.extend(self.socket.iter().map(|socket| format!("  {socket}")));
        lines.push(format!("  its files and logs are in {folder}"));
        lines.join("\n")
    }
}
