//! The servers of the benches, ours and the peers: starting, finding and stopping each.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use sys::process::ChildSetup;

/// Enough for a busy machine and for a server that is built first.
const READY_WITHIN: Duration = Duration::from_secs(60);
const ENDED_WITHIN: Duration = Duration::from_secs(10);
/// End of the body of every small answer.
const END: &[u8] = br#""Hello, World!"}"#;
/// Exit code of a shell whose program is not installed.
const NOT_INSTALLED: i32 = 127;
/// File with the answer that the floor, a bare echo, sends.
pub(super) const ANSWER: &str = "answer";
/// Files that servers find in the lab, each with the variable that names its path.
const PLACES: [(&str, &str); 4] = [
    ("ROOT", "root"),
    ("CERTIFICATE", "certificate.pem"),
    ("KEY", "key.pem"),
    ("ANSWER", ANSWER),
];

/// nginx's configuration with this `listen` directive; the caller replaces `{root}`.
pub(crate) fn nginx_configuration(listen: &str) -> String {
    include_str!("../../../bench/nginx.conf").replace("{listen}", listen)
}

/// The command that runs `bench/servers.sh` with what it is to do and where everything is.
pub(super) fn script(lab: &Path, linerate: &Path, what: &str, port: u16) -> Command {
    let mut command = Command::new("sh");
    command
        .arg(lab.join("servers.sh"))
        .arg(what.replace("{port}", &port.to_string()))
        .env("PORT", port.to_string())
        .env("REQUEST_BYTES", request(port).len().to_string())
        .env("LINERATE", linerate)
        .env("LAB", lab)
        .envs(PLACES.map(|(variable, place)| (variable, lab.join(place))))
        .stdin(Stdio::null());
    command
}

/// A server that listens. Dropping this stops it.
pub(crate) struct Server {
    child: Child,
    folder: PathBuf,
    port: u16,
}

impl Server {
    /// Starts a server on its CPU and a free port and waits until it listens; `None` where it is
    /// not installed. `name` is one that `bench/servers.sh` knows, or a command that contains
    /// `{port}`. The server works in a new folder below `folders`.
    pub(super) fn start(
        lab: &Path,
        linerate: &Path,
        folders: &Path,
        name: &str,
    ) -> anyhow::Result<Option<Self>> {
        let port = free_port()?;
        let folder = folders.join(format!("server-{port}"));
        fs::create_dir_all(&folder)?;
        let log = fs::File::create(folder.join(LOG))?;
        let mut command = script(lab, linerate, name, port);
        command
            .current_dir(&folder)
            .stdout(log.try_clone()?)
            .stderr(log);
        pinned(&mut command, super::SERVER_CPU);
        let mut server = Self {
            child: command.spawn()?,
            folder,
            port,
        };
        let listens = server.wait_until_it_listens();
        Ok(listens.with_context(|| name.to_owned())?.then_some(server))
    }

    /// Waits until the server listens; false where its program is not installed.
    fn wait_until_it_listens(&mut self) -> anyhow::Result<bool> {
        let (mut listens, mut ended) = (false, None);
        sys::clock::wait_until(READY_WITHIN, || {
            listens = TcpStream::connect(self.address()).is_ok();
            ended = self.child.try_wait().ok().flatten();
            listens || ended.is_some()
        });
        if !listens && ended.and_then(|status| status.code()) == Some(NOT_INSTALLED) {
            return Ok(false);
        }
        let said = fs::read_to_string(self.folder.join(LOG)).unwrap_or_default();
        ensure!(listens, "does not listen on port {}: {said}", self.port);
        Ok(true)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// The argument that names the server to a lap: its first process and its port.
    pub(super) fn place(&self) -> String {
        format!("{}:{}", self.child.id(), self.port)
    }

    pub(crate) fn processes(&self) -> Vec<u32> {
        family(self.child.id())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = sys::process::terminate(&self.child);
        let ended = || matches!(self.child.try_wait(), Ok(Some(_)));
        if !sys::clock::wait_until(ENDED_WITHIN, ended) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

const LOG: &str = "output";

/// A process and all its descendants.
pub(super) fn family(first: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut waiting = vec![first];
    while let Some(pid) = waiting.pop() {
        found.push(pid);
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        let children = children.unwrap_or_default();
        waiting.extend(children.split_whitespace().flat_map(str::parse::<u32>));
    }
    found
}

/// A free port below those that the kernel gives to clients. Otherwise a client that checks whether
/// the server listens yet could be given that very port, and connect to itself.
fn free_port() -> anyhow::Result<u16> {
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    (20_000..30_000)
        .find(is_free)
        .context("no port from 20000 to 29999 is free")
}

/// Lets a command run on one CPU only, and end with us.
pub(super) fn pinned(command: &mut Command, cpu: usize) {
    let setup = ChildSetup {
        cpus: vec![cpu],
        ..ChildSetup::default()
    };
    sys::process::prepare_child(command, setup);
}

/// The small request as wrk sends it, byte for byte.
fn request(port: u16) -> String {
    format!("GET /json HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n")
}

/// Asks once and returns the whole answer; the connection stays open.
pub(super) fn ask(connection: &mut TcpStream) -> anyhow::Result<Vec<u8>> {
    let port = connection.peer_addr()?.port();
    connection.set_read_timeout(Some(ENDED_WITHIN))?;
    connection.write_all(request(port).as_bytes())?;
    let mut answer = Vec::new();
    while !answer.ends_with(END) {
        let mut buffer = [0; 4096];
        let read = connection.read(&mut buffer);
        let said = String::from_utf8_lossy(&answer);
        let bytes = read.with_context(|| format!("port {port} said no more than {said:?}"))?;
        ensure!(bytes > 0, "port {port} closed after {said:?}");
        answer.extend_from_slice(&buffer[..bytes]);
    }
    let said = String::from_utf8_lossy(&answer);
    ensure!(
        said.starts_with("HTTP/1.1 200 "),
        "port {port} answered {said:?}"
    );
    Ok(answer)
}
