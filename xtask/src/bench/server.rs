//! A server under test: how it is started, by what processes it is known, and how it ends.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use sys::process::ChildSetup;

use super::lab::Lab;
use super::{SERVER_CPU, exchange};

const READY_WITHIN: Duration = Duration::from_secs(10);
const ENDED_WITHIN: Duration = Duration::from_secs(10);

/// How a server is started. In its words and files `{port}` is its port, `{dir}` a folder of its
/// own, `{request_bytes}` the length of [`exchange::request`], and each file of the lab stands
/// under its name.
#[derive(Clone, Debug, Default)]
pub(super) struct Recipe {
    /// What tables call it.
    pub(super) name: String,
    pub(super) command: Vec<String>,
    /// Names and texts of what it finds in its folder.
    pub(super) files: Vec<(&'static str, String)>,
    pub(super) environment: Vec<(&'static str, &'static str)>,
    /// A command that makes it ready to be started, and takes its time.
    pub(super) prepare: Vec<String>,
}

impl Recipe {
    /// For readers.
    pub(super) fn shown(&self) -> String {
        let environment = self.environment.iter();
        let words = environment.map(|(name, value)| format!("{name}={value}"));
        let words: Vec<String> = words.chain(self.command.iter().cloned()).collect();
        words.join(" ").replace("{linerate}", "linerate")
    }

    /// With everything put in that is called by name.
    fn filled(&self, lab: &Lab, port: u16, folder: &Path) -> Self {
        let request_bytes = exchange::request(port).len();
        let fill = |text: &String| {
            let text = text
                .replace("{port}", &port.to_string())
                .replace("{dir}", &folder.to_string_lossy())
                .replace("{request_bytes}", &request_bytes.to_string());
            lab.fill(&text)
        };
        Self {
            command: self.command.iter().map(fill).collect(),
            prepare: self.prepare.iter().map(fill).collect(),
            files: (self.files.iter())
                .map(|(name, text)| (*name, fill(text)))
                .collect(),
            ..self.clone()
        }
    }

    fn write_files(&self, folder: &Path) -> io::Result<()> {
        let mut files = self.files.iter();
        files.try_for_each(|(name, text)| fs::write(folder.join(name), text))
    }

    fn prepare(&self, folder: &Path) -> anyhow::Result<()> {
        if self.prepare.is_empty() {
            return Ok(());
        }
        let status = in_folder(&self.prepare, folder)?.status()?;
        ensure!(status.success(), "{} failed", self.prepare.join(" "));
        Ok(())
    }

    fn spawn(&self, folder: &Path) -> anyhow::Result<Child> {
        let mut command = in_folder(&self.command, folder)?;
        command.envs(self.environment.iter().copied());
        pinned(&mut command, SERVER_CPU);
        Ok(command.spawn()?)
    }
}

/// A command whose output is read only when it fails.
fn in_folder(words: &[String], folder: &Path) -> anyhow::Result<Command> {
    let log = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(folder.join(LOG))?;
    let (program, arguments) = words.split_first().context("a command is empty")?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log);
    Ok(command)
}

const LOG: &str = "output";

/// A server that listens. Dropping it stops it.
pub(super) struct Server {
    child: Child,
    folder: PathBuf,
    pub(super) port: u16,
}

impl Server {
    /// Starts it on its CPU and a free port, and waits until it listens.
    pub(super) fn start(lab: &Lab, recipe: &Recipe) -> anyhow::Result<Self> {
        Self::start_on(free_port()?, lab, recipe).with_context(|| recipe.name.clone())
    }

    fn start_on(port: u16, lab: &Lab, recipe: &Recipe) -> anyhow::Result<Self> {
        let folder = lab.new_folder(&format!("server-{port}"))?;
        let recipe = recipe.filled(lab, port, &folder);
        recipe.write_files(&folder)?;
        recipe.prepare(&folder)?;
        let mut server = Self {
            child: recipe.spawn(&folder)?,
            folder,
            port,
        };
        server.wait_until_it_listens()?;
        Ok(server)
    }

    fn wait_until_it_listens(&mut self) -> anyhow::Result<()> {
        let mut listens = false;
        sys::clock::wait_until(READY_WITHIN, || {
            listens = TcpStream::connect(self.address()).is_ok();
            listens || !matches!(self.child.try_wait(), Ok(None))
        });
        if listens {
            return Ok(());
        }
        let said = fs::read_to_string(self.folder.join(LOG)).unwrap_or_default();
        anyhow::bail!("does not listen on port {}: {said}", self.port)
    }

    pub(super) fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// CPU time of its processes so far.
    pub(super) fn cpu_ns(&self) -> anyhow::Result<u64> {
        let each = self.processes().into_iter().map(sys::clock::process_cpu_ns);
        Ok(each.sum::<Result<u64, _>>()?)
    }

    /// The process that was started, and those that came of it.
    pub(super) fn processes(&self) -> Vec<u32> {
        let mut found = Vec::new();
        let mut waiting = vec![self.child.id()];
        while let Some(pid) = waiting.pop() {
            found.push(pid);
            let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
            let children = children.unwrap_or_default();
            waiting.extend(
                children
                    .split_whitespace()
                    .filter_map(|pid| pid.parse::<u32>().ok()),
            );
        }
        found
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

/// Below the ports that the kernel gives to clients: one who asks whether a server is there yet could
/// be given that very port, and be answered by itself.
fn free_port() -> anyhow::Result<u16> {
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    (20_000..30_000)
        .find(is_free)
        .context("no port from 20000 to 29999 is free")
}

/// Lets a command run on that CPU alone, and end with us.
pub(super) fn pinned(command: &mut Command, cpu: usize) {
    let setup = ChildSetup {
        cpus: vec![cpu],
        ..ChildSetup::default()
    };
    sys::process::prepare_child(command, setup);
}
