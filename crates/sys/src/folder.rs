//! A folder held by a descriptor: operations below it cannot reach what somebody puts in its place.

use std::fs::{self, DirBuilder, File, Metadata, Permissions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Component, Path, PathBuf};

use crate::user;

/// The bits of a mode by which its group and everybody may write.
const GROUP_WRITES: u32 = 0o020;
const ALL_WRITE: u32 = 0o002;
/// In a folder with this bit, only the owner of a name may rename or remove it (inode(7)).
const STICKY: u32 = 0o1000;
/// Depth down to which folders are made writable so that they can be removed.
const DEEPEST: u32 = 100;

/// An open folder. Wherever it is moved to, and whatever takes its name, it stays the same.
#[derive(Debug)]
pub struct Folder(File);

impl Folder {
    /// Opens a folder. Links on the way to it are followed; the folder itself must not be a link.
    ///
    /// # Errors
    /// `ENOTDIR` where something else is there, a link included; `EACCES`.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::open_with(path, 0)
    }

    fn open_with(path: &Path, flags: libc::c_int) -> io::Result<Self> {
        let mut options = File::options();
        options.read(true);
        options.custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW | flags);
        options.open(path).map(Self)
    }

    /// The path of a name in the folder, valid as long as this lives. It leads through the
    /// descriptor (`/proc/self/fd`, proc_pid_fd(5)), so that the kernel begins at this very folder.
    ///
    /// # Errors
    /// `EINVAL` for anything but a plain name.
    pub fn path_of(&self, name: impl AsRef<Path>) -> io::Result<PathBuf> {
        let name = name.as_ref();
        let mut parts = name.components();
        match (parts.next(), parts.next()) {
            (Some(Component::Normal(only)), None) if only == name => Ok(self.inside().join(name)),
            _ => Err(io::Error::from_raw_os_error(libc::EINVAL)),
        }
    }

    /// The path of the folder itself, also through the descriptor.
    pub fn inside(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.0.as_raw_fd()))
    }

    /// Makes a new folder in this one that only we may enter, and opens it.
    ///
    /// # Errors
    /// `EEXIST` where something is there, and others of mkdir(2).
    pub fn make(&self, name: impl AsRef<Path>) -> io::Result<Self> {
        let path = self.path_of(name)?;
        DirBuilder::new().mode(0o700).create(&path)?;
        Self::open(&path)
    }

    /// Opens a folder in this one.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn below(&self, name: impl AsRef<Path>) -> io::Result<Self> {
        Self::open(&self.path_of(name)?)
    }

    /// Opens a file in the folder to read and write. If `may_make`, it creates a missing file, for
    /// us alone.
    ///
    /// # Errors
    /// `ELOOP` where it is a link, and others of open(2).
    pub fn file(&self, name: impl AsRef<Path>, may_make: bool) -> io::Result<File> {
        let mut options = File::options();
        options.read(true).write(true).create(may_make).mode(0o600);
        // Opening a FIFO must not wait.
        options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        options.open(self.path_of(name)?)
    }

    /// The folder's metadata.
    ///
    /// # Errors
    /// Those of fstat(2).
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.0.metadata()
    }

    /// Whether the folder belongs to us, and nobody else may write to it.
    ///
    /// # Errors
    /// As [`Self::metadata`].
    pub fn is_ours(&self) -> io::Result<bool> {
        let found = self.metadata()?;
        Ok(found.uid() == user::ours() && found.mode() & (GROUP_WRITES | ALL_WRITE) == 0)
    }

    /// Whether what we make in the folder stays ours: the folder belongs to us or to root, and
    /// nobody else who may write to it can rename what is ours. An ordinary user's group is that
    /// user's own affair.
    ///
    /// # Errors
    /// As [`Self::metadata`].
    pub fn keeps_ours(&self) -> io::Result<bool> {
        let found = self.metadata()?;
        let others = match user::ours() {
            0 => GROUP_WRITES | ALL_WRITE,
            _ => ALL_WRITE,
        };
        let is_shared = found.mode() & others != 0 && found.mode() & STICKY == 0;
        Ok(user::is_us_or_root(found.uid())? && !is_shared)
    }

    /// Removes a name in the folder, with everything below it. Links are not followed. Folders that
    /// we own but may not write to are made writable first.
    ///
    /// # Errors
    /// Those of unlink(2).
    pub fn remove(&self, name: impl AsRef<Path>) -> io::Result<()> {
        let path = self.path_of(name)?;
        if !fs::symlink_metadata(&path)?.is_dir() {
            return fs::remove_file(path);
        }
        // From here on, the removal goes by descriptors.
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                unlock(&path, 0);
                fs::remove_dir_all(&path)
            }
            removed => removed,
        }
    }
}

/// Makes a folder and those below it writable for us, as far as they are ours.
fn unlock(folder: &Path, depth: u32) {
    // A folder can be held without the right to read it (`O_PATH`, open(2)).
    let Ok(held) = Folder::open_with(folder, libc::O_PATH) else {
        return;
    };
    let _ = fs::set_permissions(held.inside(), Permissions::from_mode(0o700));
    let entries = fs::read_dir(held.inside()).into_iter().flatten().flatten();
    for entry in entries.filter(|_| depth < DEEPEST) {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            unlock(&entry.path(), depth + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A folder that is removed after the test.
    struct TestFolder(PathBuf);

    impl TestFolder {
        fn new(test: &str) -> Self {
            let name = format!("linerate-folder-{test}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            fs::create_dir(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for TestFolder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn neither_a_link_nor_a_file_is_a_folder() {
        let place = TestFolder::new("open");
        let (link, file) = (place.0.join("link"), place.0.join("file"));
        symlink(&place.0, &link).unwrap();
        fs::write(&file, "").unwrap();
        let opened = [&place.0, &link, &file].map(|path| Folder::open(path).map(drop));
        let errors = opened.map(|opened| opened.err().and_then(|error| error.raw_os_error()));
        assert_eq!(errors, [None, Some(libc::ENOTDIR), Some(libc::ENOTDIR)]);
    }

    #[test]
    fn what_takes_the_place_of_an_open_folder_is_not_reached() {
        let place = TestFolder::new("exchanged");
        let [open, theirs, moved] = ["open", "theirs", "moved"].map(|name| place.0.join(name));
        for folder in [&open, &theirs] {
            fs::create_dir_all(folder.join("name/deep")).unwrap();
        }
        let held = Folder::open(&open).unwrap();
        fs::rename(&open, &moved).unwrap();
        symlink(&theirs, &open).unwrap();
        held.remove("name").unwrap();
        held.make("new").unwrap();
        assert!(theirs.join("name/deep").is_dir() && !theirs.join("new").exists());
        assert!(!moved.join("name").exists() && moved.join("new").is_dir());
    }

    #[test]
    fn a_name_leads_no_further_than_the_folder_and_a_link_nowhere() {
        let place = TestFolder::new("names");
        let held = Folder::open(&place.0).unwrap();
        for name in ["..", ".", "", "a/b", "/etc"] {
            let refused = held.path_of(name).unwrap_err();
            assert_eq!(refused.raw_os_error(), Some(libc::EINVAL), "{name:?}");
        }
        symlink("/etc/hostname", place.0.join("link")).unwrap();
        let refused = held.file("link", true).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::ELOOP));
        fs::create_dir(place.0.join("kept")).unwrap();
        symlink(place.0.join("kept"), place.0.join("leads")).unwrap();
        held.remove("leads").unwrap();
        assert_eq!(fs::read_dir(&place.0).unwrap().count(), 2, "kept and link");
    }

    #[test]
    fn a_folder_that_others_may_rename_in_keeps_nothing_of_ours() {
        let place = TestFolder::new("shared");
        let keeps = |mode| {
            fs::set_permissions(&place.0, Permissions::from_mode(mode)).unwrap();
            Folder::open(&place.0).unwrap().keeps_ours().unwrap()
        };
        assert_eq!([0o700, 0o1777, 0o777].map(keeps), [true, true, false]);
    }
}
