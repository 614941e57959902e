//! A rig of two hosts that one lap has for itself, and programs on them.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};

use crate::commands::said;

/// The client's network device, and the server's address.
pub(super) const DEVICE: &str = "lr-server";
pub(super) const SERVER: &str = "198.18.0.2";
/// How long a server may take until it listens.
const PATIENCE: Duration = Duration::from_secs(10);

/// A client and a server with a cable between them. Dropping it removes them.
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

    /// The command that runs a program on one of the hosts. `rig exec` replaces itself by the
    /// program, so the child's process is the program's.
    pub(super) fn on(&self, host: &str, line: &str) -> anyhow::Result<Command> {
        let Self { linerate, name } = self;
        command(&format!(
            "{linerate} rig exec --name {name} {host} -- {line}"
        ))
    }

    /// Starts a server program on the host `server` and waits until it listens.
    pub(super) fn server(&self, line: &str, protocol: &str, port: u16) -> anyhow::Result<Ended> {
        let server = Ended(Some(
            self.on("server", line)?.stdout(Stdio::null()).spawn()?,
        ));
        // The kernel's lists are read, as a connection would count as a test. Some servers listen
        // on IPv6, which accepts both.
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

/// A running program that is killed when this is dropped.
pub(super) struct Ended(pub(super) Option<Child>);

impl Ended {
    /// Ends the program and returns the CPU time that it used, ns.
    pub(super) fn cpu_ns(mut self) -> anyhow::Result<u64> {
        let child = self.0.take().context("it has ended")?;
        // A program that ends by itself may be gone already.
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

/// A command from words separated by spaces. Its state is in the lap's folder, as the user of a
/// study has no home. It also finds the programs in root's `sbin` folders.
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
