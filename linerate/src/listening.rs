//! Where a server listens: a TCP address or a Unix socket, and what to do if it cannot.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};

use anyhow::{Context as _, anyhow};
use sys::address::{Address, SocketPath};
use sys::socket_file::{CannotListen, SocketFile};
use traffic::engine::listeners;

pub(crate) const UNIX: &str = "unix:";

/// Listeners, one for each worker.
pub(crate) struct Listening {
    pub(crate) listeners: Vec<TcpListener>,
    pub(crate) address: Address,
    /// File of a Unix socket; removed when this is dropped.
    pub(crate) file: Option<SocketFile>,
}

/// Parses where to listen, as typed on the command line.
pub(crate) fn parse(text: &str) -> Result<Address, String> {
    if let Some(path) = text.strip_prefix(UNIX) {
        return SocketPath::new(path.into()).map(Address::Unix);
    }
    if let Ok(port) = text.parse() {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port).into());
    }
    let address = text.parse().map(SocketAddr::into);
    address.map_err(|_| {
        "expected a port, ADDR:PORT or unix:PATH, such as 8080, 0.0.0.0:8080 or unix:/tmp/s"
            .to_owned()
    })
}

/// Returns the port of an address; `None` for a Unix socket.
pub(crate) fn port(address: &Address) -> Option<u16> {
    match address {
        Address::Tcp(address) => Some(address.port()),
        Address::Unix(_) => None,
    }
}

pub(crate) fn open(address: &Address, count: usize, backlog: u32) -> anyhow::Result<Listening> {
    match address {
        Address::Tcp(address) => open_port(*address, count, backlog),
        Address::Unix(path) => open_file(path, count, backlog),
    }
}

/// Opens one TCP listener, with a port to itself.
pub(crate) fn bind(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).map_err(|error| refused(address, error))
}

fn open_port(address: SocketAddr, count: usize, backlog: u32) -> anyhow::Result<Listening> {
    let listeners = listeners::open(address, count, backlog);
    let listeners = listeners.map_err(|error| refused(address, error))?;
    Ok(Listening {
        address: listeners[0].local_addr()?.into(),
        listeners,
        file: None,
    })
}

/// Opens a Unix socket. No two sockets can share a path, so the workers share one socket.
fn open_file(path: &SocketPath, count: usize, backlog: u32) -> anyhow::Result<Listening> {
    let backlog = i32::try_from(backlog).unwrap_or(i32::MAX);
    let (file, first) = SocketFile::listen(path, backlog).map_err(|why| advised(path, why))?;
    let others = (1..count).map(|_| first.try_clone());
    let mut listeners: Vec<_> = others.collect::<io::Result<_>>().context("workers")?;
    listeners.push(first);
    Ok(Listening {
        listeners,
        address: Address::Unix(path.clone()),
        file: Some(file),
    })
}

fn advised(path: &SocketPath, why: CannotListen) -> anyhow::Error {
    let shown = format!("cannot listen on {UNIX}{}", path.path().display());
    match why {
        CannotListen::Taken(by) => {
            let by = by.map_or_else(|| "a process that we may not see".to_owned(), name);
            anyhow!("{shown}: {by} listens on it; stop it, or take another path")
        }
        CannotListen::NoSocket => {
            anyhow!(
                "{shown}: what is there is not a socket, and is left as it is; take another path"
            )
        }
        CannotListen::NoStream => {
            anyhow!(
                "{shown}: what is there is a socket for datagrams or packets, and is left as it is; take another path"
            )
        }
        CannotListen::Theirs(user) => anyhow!(
            "{shown}: what is there is a socket of user {user} that nobody listens on, and is left as it is; \
             take another path, or remove it"
        ),
        CannotListen::Barred => anyhow!(
            "{shown}: what is there is a socket to which this user may not connect, so it is not known whether \
             anybody listens on it; take another path, or remove it if nobody needs it"
        ),
        CannotListen::Failed(error) => {
            let advice = match error.kind() {
                io::ErrorKind::NotFound => "its folder is not there; make it, or take another path",
                io::ErrorKind::PermissionDenied => {
                    "this user may not write to its folder; take another path"
                }
                _ => "try another path",
            };
            anyhow::Error::new(error).context(format!("{shown}: {advice}"))
        }
    }
}

fn refused(address: SocketAddr, error: io::Error) -> anyhow::Error {
    let advice = advice(address, &error);
    anyhow::Error::new(error).context(format!("cannot listen on {address}: {advice}"))
}

/// Says why it is impossible to listen on an address, and what to do.
fn advice(address: SocketAddr, error: &io::Error) -> String {
    let (ip, port) = (address.ip(), address.port());
    match error.kind() {
        io::ErrorKind::AddrInUse => format!(
            "{}; stop it, or take any free port with `--listen {}`",
            holder(address),
            SocketAddr::new(ip, 0)
        ),
        io::ErrorKind::PermissionDenied => format!(
            "port {port} needs root or CAP_NET_BIND_SERVICE; ports from 1024 on do not, such as \
             `--listen {}`",
            SocketAddr::new(ip, 8080)
        ),
        io::ErrorKind::AddrNotAvailable => {
            format!("this machine has no address {ip}; `ip address` shows those it has")
        }
        _ => "try another address".to_owned(),
    }
}

/// Says which processes listen on a port, as far as we may see.
fn holder(address: SocketAddr) -> String {
    let port = address.port();
    match machine::targets::listening_on(address) {
        Ok(pids) => {
            let names: Vec<String> = pids.iter().copied().map(name).collect();
            format!("the port is taken by {}", names.join(", "))
        }
        Err(_) => format!(
            "the port is taken by a process that we may not see, and \
             `sudo ss -ltnp 'sport = :{port}'` shows who"
        ),
    }
}

fn name(pid: u32) -> String {
    let name = sys::kernel_file::text(format!("/proc/{pid}/comm")).unwrap_or_default();
    format!("`{name}` (process {pid})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_means_loopback_and_a_path_a_socket() {
        let shown = |text: &str| parse(text).map(|address| address.to_string());
        assert_eq!(shown("8080").unwrap(), "127.0.0.1:8080");
        assert_eq!(shown("[::]:1").unwrap(), "[::]:1");
        assert_eq!(shown("unix:a/b").unwrap(), "unix:a/b");
        for wrong in ["", "70000", "localhost:80", "127.0.0.1", "unix:", "/tmp/s"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
