//! What systemd gives a service and what it wants to know: a socket that listens already
//! (sd_listen_fds(3)), and the state of the service (sd_notify(3)). Other supervisors do so too.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use anyhow::{Context as _, ensure};
use sys::listener;

use crate::listening::Listening;

/// Variables that are meant for one process, and not for those that it starts.
pub(super) const VARIABLES: [&str; 4] = [
    "LISTEN_FDS",
    "LISTEN_PID",
    "LISTEN_FDNAMES",
    "NOTIFY_SOCKET",
];

/// Reports the state of the service to a supervisor, if there is one.
#[derive(Default)]
pub(super) struct Notifier(Option<UnixDatagram>);

impl Notifier {
    /// Connects to the supervisor that the environment names. One that cannot be reached is told
    /// nothing: that is no reason not to serve.
    pub(super) fn from_environment() -> Self {
        let name = std::env::var_os("NOTIFY_SOCKET");
        Self(name.and_then(|name| connected(name.as_encoded_bytes()).ok()))
    }

    pub(super) fn ready(&self) {
        self.tell("READY=1");
    }

    pub(super) fn stopping(&self) {
        self.tell("STOPPING=1");
    }

    /// Reports a reload, which lasts until [`Self::ready`]. systemd compares the time with times of
    /// its own.
    pub(super) fn reloading(&self) {
        let now_us = sys::clock::monotonic_ns() / 1_000;
        self.tell(&format!("RELOADING=1\nMONOTONIC_USEC={now_us}"));
    }

    fn tell(&self, state: &str) {
        if let Some(socket) = &self.0 {
            let _ = socket.send(state.as_bytes());
        }
    }
}

/// Connects to a socket. A name that begins with `@` is one without a file (unix(7)).
fn connected(name: &[u8]) -> std::io::Result<UnixDatagram> {
    let address = match name.strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => {
            let path = std::path::Path::new(std::ffi::OsStr::from_bytes(name));
            SocketAddr::from_pathname(path)?
        }
    };
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    socket.connect_addr(&address)?;
    Ok(socket)
}

/// Returns the socket that was handed over instead of an address, for `workers` workers, who share
/// it; `None` if there is none for this process. To be called only once.
pub(super) fn listening(workers: usize) -> anyhow::Result<Option<Listening>> {
    let number = |name: &str| std::env::var(name).ok()?.parse::<u32>().ok();
    if number("LISTEN_PID") != Some(std::process::id()) {
        return Ok(None);
    }
    let Some(count @ 1..) = number("LISTEN_FDS") else {
        return Ok(None);
    };
    ensure!(
        count == 1,
        "{count} sockets were handed over (LISTEN_FDS), and one server listens on one: give it one \
         `ListenStream=`"
    );
    let (socket, address) = listener::handed_over().context(
        "the socket that was handed over (LISTEN_FDS) must listen for streams, of TCP or at a path",
    )?;
    let clones = (1..workers).map(|_| socket.try_clone());
    let mut listeners: Vec<_> = clones.collect::<Result<_, _>>().context("workers")?;
    listeners.push(socket);
    Ok(Some(Listening {
        listeners,
        address,
        file: None,
    }))
}
