//! Two hosts that a lap has for itself, and programs on them.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};

use crate::commands::said;

/// The client's device, and the address of the server.
pub(super) const DEVICE: &str = "lr-server";
pub(super) const SERVER: &str = "198.18.0.2";
/// For a server to listen.
const PATIENCE: Duration = Duration::from_secs(10);

/// Client and server with a cable between them, which go with the lap.
pub(super) struct Rig<'a> {
    linerate: &'a str,
    name: String,
}

impl<'a> Rig<'a> {
    pub(super) fn up(linerate: &'a str) -> anyhow::Result<Self> {
        let rig = Self {
            linerate,
            name: format!("lap-{}", std::process::id()),
        };
        said(&mut command(&format!(
            "{linerate} rig up netns --name {}",
            rig.name
        ))?)?;
        Ok(rig)
    }

    /// A program on one of its hosts, which takes the place of what is started.
    pub(super) fn on(&self, host: &str, line: &str) -> anyhow::Result<Command> {
        let Self { linerate, name } = self;
        command(&format!(
            "{linerate} rig exec --name {name} {host} -- {line}"
        ))
    }

    /// A server on its server, once it listens.
    pub(super) fn server(&self, line: &str, protocol: &str, port: u16) -> anyhow::Result<Ended> {
        let server = Ended(Some(
            self.on("server", line)?.stdout(Stdio::null()).spawn()?,
        ));
        // Asked of the kernel: a connection would be a test's. Some listen by IPv6, which takes both.
        let lists = format!("cat /proc/net/{protocol} /proc/net/{protocol}6");
        let listens = || {
            let lists = self.on("server", &lists).and_then(|mut cat| said(&mut cat));
            lists.is_ok_and(|lists| lists.contains(&format!(":{port:04X} ")))
        };
        ensure!(
            sys::clock::wait_until(PATIENCE, listens),
            "{line} does not listen"
        );
        Ok(server)
    }
}

impl Drop for Rig<'_> {
    fn drop(&mut self) {
        let clean = command(&format!("{} rig clean {}", self.linerate, self.name));
        let _ = clean.and_then(|mut clean| said(&mut clean));
    }
}

/// A program that ends with the lap.
pub(super) struct Ended(pub(super) Option<Child>);

impl Ended {
    /// Ends it, and says what it took.
    pub(super) fn cpu_ns(mut self) -> anyhow::Result<u64> {
        let child = self.0.take().context("it has ended")?;
        // One that ends by itself may have.
        let _ = sys::process::terminate(&child);
        Ok(sys::usage::wait(child)?.cpu_ns())
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Words that spaces part. Its state is beside the lap, as the user of a study has no home; programs of root are looked
/// for too.
pub(super) fn command(line: &str) -> anyhow::Result<Command> {
    let mut words = line.split(' ');
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(words.next().unwrap_or_default());
    command
        .args(words)
        .env("PATH", path + ":/usr/sbin:/sbin")
        .env("XDG_STATE_HOME", std::env::current_dir()?.join("state"))
        .stdin(Stdio::null());
    Ok(command)
}
