//! A socket among the files that is listened on: made, taken over from a server that died, removed.

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::address::{Address, SocketPath, carries_no_stream};
use crate::socket::option;

/// Everybody may connect, as to a port of loopback; who may not is kept out by the folder.
const MODE: u32 = 0o666;

/// A socket of ours. Dropping it removes the file, unless another has taken its place.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    /// Its device and its inode.
    identity: (u64, u64),
}

/// Why a socket cannot be had.
#[derive(Debug)]
pub enum CannotListen {
    /// Somebody listens on it: the process that began to, if it can be seen.
    Taken(Option<u32>),
    /// What is there is no socket.
    NoSocket,
    Failed(io::Error),
}

impl From<io::Error> for CannotListen {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

impl SocketFile {
    /// Makes a socket and listens on it. One that is there, and that nobody listens on any more, makes
    /// way.
    ///
    /// # Errors
    /// [`CannotListen`]; what is there then stays.
    pub fn listen(path: &SocketPath, backlog: i32) -> Result<(Self, TcpListener), CannotListen> {
        // Of two that find a dead one, the second would remove the socket of the first.
        let folder = File::open(folder_of(path.path()))?;
        folder.lock()?;
        if is_left(path)? {
            fs::remove_file(path.path())?;
        }
        let listener = path.listen(backlog)?;
        fs::set_permissions(path.path(), Permissions::from_mode(MODE))?;
        let made = fs::symlink_metadata(path.path())?;
        let socket = Self {
            path: path.path().to_owned(),
            identity: (made.dev(), made.ino()),
        };
        // Its functions are those of every socket that takes streams.
        Ok((socket, TcpListener::from(listener)))
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let found = fs::symlink_metadata(&self.path);
        if found.is_ok_and(|found| (found.dev(), found.ino()) == self.identity) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Whether a socket is there that nobody listens on.
fn is_left(path: &SocketPath) -> Result<bool, CannotListen> {
    let found = match fs::symlink_metadata(path.path()) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        found => found?,
    };
    if !found.file_type().is_socket() {
        return Err(CannotListen::NoSocket);
    }
    match Address::Unix(path.clone()).connect() {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(true),
        // Its queue is full, or it is one of datagrams.
        Err(error) if error.kind() == ErrorKind::WouldBlock || carries_no_stream(&error) => {
            Err(CannotListen::Taken(None))
        }
        Err(error) => Err(error.into()),
        Ok(socket) => Err(CannotListen::Taken(listener_of(socket.as_fd()))),
    }
}

/// Whoever called listen(2) for the other end of a connection (`SO_PEERCRED`, unix(7)).
fn listener_of(socket: BorrowedFd<'_>) -> Option<u32> {
    let nobody = libc::ucred {
        pid: 0,
        uid: 0,
        gid: 0,
    };
    let peer = option(socket, libc::SOL_SOCKET, libc::SO_PEERCRED, nobody).ok()?;
    // It is 0 in another namespace of processes.
    u32::try_from(peer.pid).ok().filter(|pid| *pid > 0)
}

fn folder_of(path: &Path) -> &Path {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or_else(|| Path::new("."))
}
