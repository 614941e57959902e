//! What every bench needs: the program under test, and a folder with the files that servers read.

use std::fs;
use std::net::TcpStream;
use std::path::PathBuf;

use anyhow::Context as _;

use super::servers::{self, ANSWER, Server};
use crate::commands;

/// The long file that is served.
const LONG_FILE: &str = "root/big.bin";
/// Files of `bench/` that are copied into the lab, for servers whose user may not enter this
/// checkout.
const FILES: [(&str, &str); 5] = [
    ("servers.sh", include_str!("../../../bench/servers.sh")),
    ("nginx.conf", include_str!("../../../bench/nginx.conf")),
    ("h2o.conf", include_str!("../../../bench/h2o.conf")),
    ("Caddyfile", include_str!("../../../bench/Caddyfile")),
    ("files.go", include_str!("../../../bench/files.go")),
];
/// Name in the lab of a copy of this program, for the studies that run it.
pub(super) const LAP: &str = "lap";

/// A folder in which benches run. Dropping it removes the folder.
pub(crate) struct Lab {
    pub(super) linerate: PathBuf,
    folder: PathBuf,
}

impl Lab {
    pub(crate) fn new(linerate: PathBuf) -> anyhow::Result<Self> {
        // Servers with thousands of connections, and the programs that hold those, inherit the
        // limit.
        sys::process::raise_open_file_limit()?;
        let name = format!("linerate-bench-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        // A folder of this name that already exists is somebody else's.
        fs::create_dir(&folder)?;
        fs::create_dir(folder.join("root"))?;
        for (name, text) in FILES {
            fs::write(folder.join(name), text)?;
        }
        fs::copy(std::env::current_exe()?, folder.join(LAP))?;
        Ok(Self { linerate, folder })
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Starts the server with this name; `None` where it is not installed.
    pub(crate) fn start(&self, server: &str) -> anyhow::Result<Option<Server>> {
        Server::start(&self.folder, &self.linerate, &self.folder, server)
    }

    /// Number of bytes of a server's answer. The first server's answer is saved for the floor to
    /// send.
    pub(super) fn answer_bytes(&self, server: &Server) -> anyhow::Result<usize> {
        let answer = servers::ask(&mut TcpStream::connect(server.address())?)?;
        if !self.path(ANSWER).exists() {
            fs::write(self.path(ANSWER), &answer)?;
        }
        Ok(answer.len())
    }

    /// Makes the long file, so that it is in the page cache, and the certificate of all TLS
    /// servers.
    pub(super) fn make_files(&self) -> anyhow::Result<()> {
        if self.path(LONG_FILE).exists() {
            return Ok(());
        }
        self.make("files")?;
        self.make_certificate()
    }

    /// Makes the certificate of the TLS servers alone.
    pub(crate) fn make_certificate(&self) -> anyhow::Result<()> {
        self.make("certificate")
    }

    fn make(&self, what: &str) -> anyhow::Result<()> {
        let mut script = servers::script(&self.folder, &self.linerate, what, 0);
        commands::run(&mut script).with_context(|| format!("the {what} to serve could not be made"))
    }

    /// Prints the versions of the programs that take part, a line each.
    pub(super) fn print_versions(&self) -> anyhow::Result<()> {
        servers::script(&self.folder, &self.linerate, "versions", 0).status()?;
        Ok(())
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
