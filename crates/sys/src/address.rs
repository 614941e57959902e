//! The address that a stream of bytes connects to: one of TCP, or a socket in the file system.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketType};

use crate::socket;

/// The longest path that a socket may have, bytes: `sun_path` less its NUL, unix(7).
const PATH_MAX_BYTES: usize = 107;

/// The address of a TCP or Unix socket to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    Tcp(SocketAddr),
    Unix(SocketPath),
}

/// The path of a Unix socket, of a length that the kernel accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SocketPath(PathBuf);

impl Address {
    /// Starts to connect without waiting. The socket becomes writable when the attempt is over;
    /// then [`connect_outcome`](socket::connect_outcome) returns how it ended.
    ///
    /// # Errors
    /// For TCP, those of [`socket::connect`]. For a Unix socket, those of connect(2): `ENOENT`,
    /// `ECONNREFUSED` when nobody listens on it, `EAGAIN` while its queue of connections that wait
    /// to be accepted is full.
    pub fn connect(&self) -> io::Result<OwnedFd> {
        match self {
            Self::Tcp(address) => socket::connect(*address),
            Self::Unix(path) => path.connect(),
        }
    }
}

/// Whether a socket refused a connection because it carries datagrams or packets, not a stream.
pub fn carries_no_stream(refusal: &io::Error) -> bool {
    refusal.raw_os_error() == Some(libc::EPROTOTYPE)
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(to),
            Self::Unix(path) => write!(to, "unix:{}", path.0.display()),
        }
    }
}

impl SocketPath {
    /// Accepts a path that a socket may have; it does not check whether a socket is there.
    ///
    /// # Errors
    /// A text that says why no socket can have the path.
    pub fn new(path: PathBuf) -> Result<Self, String> {
        let bytes = path.as_os_str().as_bytes();
        match bytes.len() {
            0 => Err("the path of a socket is not empty".to_owned()),
            _ if bytes.contains(&0) => Err("the path of a socket holds no NUL byte".to_owned()),
            bytes if bytes > PATH_MAX_BYTES => Err(format!(
                "the path of a socket has at most {PATH_MAX_BYTES} bytes, and this one has {bytes}: \
                 give a shorter one, such as one from the folder that it is in, or a symbolic link"
            )),
            _ => Ok(Self(path)),
        }
    }

    /// Returns the path as it was given.
    pub fn path(&self) -> &Path {
        &self.0
    }

    fn connect(&self) -> io::Result<OwnedFd> {
        let socket = open()?;
        net::connect(&socket, &SocketAddrUnix::new(&self.0)?)?;
        Ok(socket)
    }

    /// Makes the socket at this path and listens on it.
    ///
    /// # Errors
    /// `EADDRINUSE` when something exists at the path, and those of bind(2).
    pub(crate) fn listen(&self, backlog: i32) -> io::Result<OwnedFd> {
        let socket = open()?;
        net::bind(&socket, &SocketAddrUnix::new(&self.0)?)?;
        net::listen(&socket, backlog)?;
        Ok(socket)
    }
}

fn open() -> io::Result<OwnedFd> {
    Ok(net::socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        socket::APART,
        None,
    )?)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;
    use std::os::unix::net::UnixListener;

    use super::*;

    fn path(text: &str) -> Result<SocketPath, String> {
        SocketPath::new(PathBuf::from(text))
    }

    #[test]
    fn a_path_that_no_socket_can_have_is_refused() {
        let long = "a".repeat(108);
        for (wrong, why) in [("", "empty"), ("a\0b", "NUL"), (long.as_str(), "has 108")] {
            let refused = path(wrong).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
        assert!(path(&long[1..]).is_ok());
    }

    #[test]
    fn the_longest_path_of_all_can_be_connected_to() {
        let folder = std::env::temp_dir().join(format!("linerate-address-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let rest = PATH_MAX_BYTES - folder.as_os_str().len() - 1;
        let longest = SocketPath::new(folder.join("s".repeat(rest))).unwrap();
        let listener = UnixListener::bind(longest.path()).unwrap();
        let socket = Address::Unix(longest).connect().unwrap();
        socket::connect_outcome(socket.as_fd()).unwrap();
        assert!(listener.accept().is_ok());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
