//! A folder below which files are opened, but none outside of it.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};

/// Number of attempts. Where something is renamed all the time, each attempt fails with a chance of
/// its own.
const ATTEMPTS: u32 = 8;

/// A folder that a requested path cannot leave, neither by `..` nor by a symbolic link: the kernel
/// refuses that while it looks the path up, so no race can get around it.
#[derive(Debug)]
pub struct RootFolder {
    folder: OwnedFd,
}

/// Why no files can be opened below a folder.
#[derive(Debug)]
pub enum NoRoot {
    /// `ENOENT`, `ENOTDIR`, `EACCES` as from open(2).
    Folder(io::Error),
    /// `ENOSYS` before Linux 5.6, which has no `openat2`; `ENOSYS` or `EPERM` where a seccomp filter
    /// refuses it.
    Lookup(io::Error),
}

/// Why a path could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotOpened {
    /// Nothing has that name.
    Absent,
    /// It may not be read, or it lies outside of the folder.
    Forbidden,
    /// Renames went on all the time, or descriptors or memory ran out; a later attempt may succeed.
    Busy,
    Failed,
}

impl From<io::Error> for NotOpened {
    fn from(error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENOTDIR | libc::ENAMETOOLONG) => Self::Absent,
            // ENXIO: a socket, or a device without a driver.
            Some(libc::EACCES | libc::EPERM | libc::EXDEV | libc::ELOOP | libc::ENXIO) => {
                Self::Forbidden
            }
            Some(libc::EAGAIN | libc::EMFILE | libc::ENFILE | libc::ENOMEM) => Self::Busy,
            _ => Self::Failed,
        }
    }
}

impl AsFd for RootFolder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }
}

impl RootFolder {
    /// Makes another descriptor of this folder.
    ///
    /// # Errors
    /// `EMFILE` at the limit of open files.
    pub fn try_clone(&self) -> io::Result<Self> {
        let folder = self.folder.try_clone()?;
        Ok(Self { folder })
    }

    /// Opens the folder, and checks that files can be opened below it.
    ///
    /// # Errors
    /// There is no such folder, or the kernel has no such lookup.
    pub fn open(path: &Path) -> Result<Self, NoRoot> {
        let folder = open_folder(path).map_err(NoRoot::Folder)?.into();
        let root = Self { folder };
        root.open_raw(c".").map_err(NoRoot::Lookup)?;
        Ok(root)
    }

    /// Opens what a relative path leads to, for reading. It does not wait for a FIFO; but the other
    /// end of a FIFO, or a device, may notice that it was opened.
    ///
    /// # Errors
    /// Why it could not be opened.
    pub fn open_below(&self, path: &CStr) -> Result<File, NotOpened> {
        Ok(despite_renames(|| self.open_raw(path))?)
    }

    fn open_raw(&self, path: &CStr) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let within = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let file = openat2(&self.folder, path, flags, Mode::empty(), within)?;
        Ok(file.into())
    }
}

fn open_folder(path: &Path) -> io::Result<File> {
    // Opening a FIFO would wait.
    if !path.metadata()?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    File::open(path)
}

/// Tries again where the kernel could not tell that a `..` of a symbolic link stays below: it
/// returns `EAGAIN` when anything on the machine was renamed or mounted in the meantime
/// (openat2(2)).
fn despite_renames(mut open: impl FnMut() -> io::Result<File>) -> io::Result<File> {
    let is_raced = |error: &io::Error| error.kind() == io::ErrorKind::WouldBlock;
    for _ in 1..ATTEMPTS {
        match open() {
            Err(error) if is_raced(&error) => {}
            opened => return opened,
        }
    }
    open()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_leads_out_of_the_folder() {
        let root = RootFolder::open(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        assert!(root.open_below(c"src/../Cargo.toml").is_ok());
        for path in [c"..", c"../sys/Cargo.toml", c"/etc/passwd"] {
            let error = root.open_below(path).unwrap_err();
            assert_eq!(error, NotOpened::Forbidden, "{path:?}");
        }
        let proc = RootFolder::open(Path::new("/proc")).unwrap();
        let error = proc.open_below(c"self/exe").unwrap_err();
        assert_eq!(error, NotOpened::Forbidden);
        assert_eq!(root.open_below(c"a").unwrap_err(), NotOpened::Absent);
        assert_eq!(root.open_below(c"src/a").unwrap_err(), NotOpened::Absent);
        let no_folder = RootFolder::open(Path::new("/etc/passwd"));
        assert!(matches!(no_folder, Err(NoRoot::Folder(_))));
    }

    #[test]
    fn a_lookup_that_renames_disturbed_is_tried_again_but_not_for_ever() {
        let tried = |disturbed: u32, after: libc::c_int| {
            let mut attempts = 0;
            let opened = despite_renames(|| {
                attempts += 1;
                let code = if attempts > disturbed {
                    after
                } else {
                    libc::EAGAIN
                };
                Err(io::Error::from_raw_os_error(code))
            });
            (attempts, NotOpened::from(opened.unwrap_err()))
        };
        assert_eq!(tried(0, libc::ENOENT), (1, NotOpened::Absent));
        assert_eq!(tried(7, libc::ENOENT), (8, NotOpened::Absent));
        assert_eq!(tried(100, libc::ENOENT), (8, NotOpened::Busy));
    }
}
