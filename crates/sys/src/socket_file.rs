//! A listening socket in the file system: how it is made, taken over from a server that died, and
//! removed.

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};
use std::os::unix::fs::{
    FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::address::{Address, SocketPath, carries_no_stream};
use crate::clock;
use crate::socket::option;
use crate::user;

/// Everybody may connect, as with a port of loopback; permissions of the folder keep others out.
const MODE: u32 = 0o666;
/// Longest wait for a [`Turn`]. A turn takes no time, unless somebody else holds the lock.
const LONGEST_TURN: Duration = Duration::from_secs(2);

/// A socket file of ours. Dropping it removes the file, unless another has taken its place.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    /// The file itself: as long as it is open, no other file is given its inode.
    file: File,
}

/// Why we cannot listen on a socket file.
#[derive(Debug)]
pub enum CannotListen {
    /// Somebody listens on it already: the process that called listen(2), if it can be seen.
    Taken(Option<u32>),
    /// The file that is there is not a socket.
    NoSocket,
    /// The file that is there is a socket of datagrams or packets.
    NoStream,
    /// The file that is there is a socket that nobody listens on. It belongs to the user of this
    /// number, so it is for that user to remove.
    Theirs(u32),
    /// The file that is there is a socket to which this user may not connect, so whether somebody
    /// listens on it is not known.
    Barred,
    Failed(io::Error),
}

impl From<io::Error> for CannotListen {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

impl SocketFile {
    /// Makes a socket file and listens on it. A socket that is already there is replaced if nobody
    /// listens on it any more.
    ///
    /// # Errors
    /// [`CannotListen`]; the file that is there then stays.
    pub fn listen(path: &SocketPath, backlog: i32) -> Result<(Self, TcpListener), CannotListen> {
        let _turn = Turn::take(path.path());
        if is_abandoned(path)? {
            fs::remove_file(path.path())?;
        }
        let listener = path.listen(backlog)?;
        let socket = Self {
            path: path.path().to_owned(),
            file: opened(path.path())?,
        };
        socket.let_everybody_connect()?;
        // A `TcpListener` works for it: its functions are those of any stream socket.
        Ok((socket, TcpListener::from(listener)))
    }

    /// Opens the socket to everybody. Until then anyone who may write to its folder can exchange
    /// the file, so the mode is set through the open descriptor, and only if that is a socket.
    fn let_everybody_connect(&self) -> io::Result<()> {
        if !self.file.metadata()?.file_type().is_socket() {
            let what = "somebody has put something else in its place";
            return Err(io::Error::other(what));
        }
        let held = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        fs::set_permissions(held, Permissions::from_mode(MODE))
    }

    fn is_there(&self) -> io::Result<bool> {
        let (ours, found) = (self.file.metadata()?, fs::symlink_metadata(&self.path)?);
        Ok((ours.dev(), ours.ino()) == (found.dev(), found.ino()))
    }
}

/// A turn at replacing or removing a socket file. Of two servers that find a dead socket, the
/// second would remove the new socket of the first. So they take turns by a lock of its folder,
/// where the folder may be read and nobody else holds that lock.
struct Turn {
    _folder: Option<File>,
}

impl Turn {
    fn take(path: &Path) -> Self {
        let folder = File::open(folder_of(path)).ok();
        let locked = |folder: &File| clock::wait_until(LONGEST_TURN, || folder.try_lock().is_ok());
        Self {
            _folder: folder.filter(locked),
        }
    }
}

/// Opens a socket file without using it (`O_PATH`, open(2)), so that it can be held.
fn opened(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    let flags = libc::O_PATH | libc::O_NOFOLLOW;
    options.read(true).custom_flags(flags).open(path)
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _turn = Turn::take(&self.path);
        if self.is_there().unwrap_or(false) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Whether there is a socket that nobody listens on.
fn is_abandoned(path: &SocketPath) -> Result<bool, CannotListen> {
    let found = match fs::symlink_metadata(path.path()) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        found => found?,
    };
    if !found.file_type().is_socket() {
        return Err(CannotListen::NoSocket);
    }
    let refusal = match Address::Unix(path.clone()).connect() {
        Ok(socket) => return Err(CannotListen::Taken(listener_of(socket.as_fd()))),
        Err(refusal) => refusal,
    };
    Err(match refusal.kind() {
        ErrorKind::ConnectionRefused if found.uid() == user::ours() => return Ok(true),
        ErrorKind::ConnectionRefused => CannotListen::Theirs(found.uid()),
        // The queue of the listener is full.
        ErrorKind::WouldBlock => CannotListen::Taken(None),
        ErrorKind::PermissionDenied => CannotListen::Barred,
        _ if carries_no_stream(&refusal) => CannotListen::NoStream,
        _ => refusal.into(),
    })
}

/// The process that called listen(2) for the other end of a connection (`SO_PEERCRED`, unix(7)).
fn listener_of(socket: BorrowedFd<'_>) -> Option<u32> {
    let nobody = libc::ucred {
        pid: 0,
        uid: 0,
        gid: 0,
    };
    let peer = option(socket, libc::SOL_SOCKET, libc::SO_PEERCRED, nobody).ok()?;
    // It is 0 where that process is in another PID namespace.
    u32::try_from(peer.pid).ok().filter(|pid| *pid > 0)
}

fn folder_of(path: &Path) -> &Path {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or_else(|| Path::new("."))
}
