//! A service's own folder: its configuration goes in, its logs come out.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::logs::OUTPUT;

/// A folder that is removed when this is dropped.
pub(super) struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Makes a folder that only we may enter.
    pub(super) fn new(path: PathBuf) -> io::Result<Self> {
        // It must be new: a folder that somebody else made in a public place could be a trap.
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self { path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file that only we may read, and makes the folders that lead to it.
    pub(super) fn write(&self, file: &str, text: &str) -> io::Result<()> {
        let path = self.path.join(file);
        if let Some(above) = path.parent() {
            fs::create_dir_all(above)?;
        }
        let mut options = File::options();
        let options = options.write(true).create(true).truncate(true).mode(0o600);
        options.open(path)?.write_all(text.as_bytes())
    }

    /// Opens the file for the output of the service.
    pub(super) fn output(&self) -> io::Result<File> {
        let path = self.path.join(OUTPUT);
        File::options().append(true).create(true).open(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(test: &str) -> PathBuf {
        std::env::temp_dir().join(format!("linerate-folder-{test}-{}", std::process::id()))
    }

    #[test]
    fn a_folder_goes_with_everything_in_it() {
        let folder = Folder::new(path("goes")).unwrap();
        folder.write("a/b/c.conf", "text").unwrap();
        let path = folder.path().to_owned();
        assert_eq!(fs::read_to_string(path.join("a/b/c.conf")).unwrap(), "text");
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn a_folder_that_is_there_already_is_not_taken() {
        let folder = Folder::new(path("taken")).unwrap();
        assert!(Folder::new(folder.path().to_owned()).is_err());
    }
}
