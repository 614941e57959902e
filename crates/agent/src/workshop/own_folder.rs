//! The folder of a study's commands: new, locked for as long as we live, and taken away by the next
//! study where one that was killed has left it.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use crate::service::leftovers;

const PREFIX: &str = "linerate-study-";
/// How many names are tried: others can have taken some.
const MOST_NAMES: u32 = 1000;

/// A folder of ours. Dropping it takes it away, with all that works in it.
pub(super) struct OwnFolder {
    path: PathBuf,
    /// The kernel takes the lock from a process that ends in any way.
    _held: File,
}

impl OwnFolder {
    /// Makes one below a folder, which only we may enter.
    pub(super) fn new(above: &Path) -> io::Result<Self> {
        let us = sys::process::user();
        for number in 0..MOST_NAMES {
            let path = above.join(format!("{PREFIX}{}-{number}", std::process::id()));
            // It must be new: one that somebody else made in a public place could be his trap.
            match DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made?,
            }
            // Before this, another study could take it for one that was left.
            if let Some(held) = hold(&path, &[us]) {
                return Ok(Self { path, _held: held });
            }
        }
        let all = format!("all {MOST_NAMES} names are taken");
        Err(io::Error::new(io::ErrorKind::AlreadyExists, all))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        // With what has made itself a group of its own there; what went elsewhere, as daemon(3) goes
        // to `/`, is not found.
        leftovers::clear(&self.path);
    }
}

/// Takes away what studies of these users have left that were killed.
pub(super) fn clear_left(above: &Path, users: &[u32]) {
    let entries = fs::read_dir(above).into_iter().flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let is_named_so = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(PREFIX))
    };
    for path in paths.filter(is_named_so) {
        if let Some(_held) = hold(&path, users) {
            leftovers::clear(&path);
        }
    }
}

/// Locks a folder of these users; `None` where that is another's, or in use.
fn hold(path: &Path, users: &[u32]) -> Option<File> {
    let folder = sys::folder::open(path).ok()?;
    let found = folder.metadata().ok()?;
    if !users.contains(&found.uid()) {
        return None;
    }
    folder.try_lock().ok()?;
    // One that was taken away meanwhile is worth nothing.
    let there = fs::symlink_metadata(path).ok()?;
    (there.ino() == found.ino()).then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that goes with the test.
    struct Above(PathBuf);

    impl Above {
        fn new(test: &str) -> Self {
            let name = format!("linerate-above-{test}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            fs::create_dir(&path).unwrap();
            Self(path)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).unwrap();
            let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            let mut names: Vec<String> = names.collect();
            names.sort();
            names
        }
    }

    impl Drop for Above {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn name(number: u32) -> String {
        format!("{PREFIX}{}-{number}", std::process::id())
    }

    #[test]
    fn a_name_that_is_taken_is_left_for_the_next() {
        let above = Above::new("taken");
        fs::create_dir(above.0.join(name(0))).unwrap();
        fs::write(above.0.join(name(1)), "").unwrap();
        let own = OwnFolder::new(&above.0).unwrap();
        assert_eq!(own.path(), above.0.join(name(2)));
        drop(own);
        assert_eq!(above.names(), [name(0), name(1)]);
    }

    #[test]
    fn what_a_killed_study_left_goes_and_what_is_in_use_or_not_ours_stays() {
        let above = Above::new("left");
        let left = above.0.join("linerate-study-1-0");
        fs::create_dir_all(left.join("deep/down")).unwrap();
        let (another, link) = (above.0.join("another"), above.0.join("linerate-study-1-1"));
        fs::create_dir(&another).unwrap();
        std::os::unix::fs::symlink(&another, link).unwrap();
        let own = OwnFolder::new(&above.0).unwrap();
        let us = sys::process::user();
        clear_left(&above.0, &[us + 1]);
        assert!(left.exists(), "of somebody else");
        clear_left(&above.0, &[us]);
        let stays = ["another", "linerate-study-1-1", &name(0)];
        assert_eq!(above.names(), stays);
        assert!(own.path().is_dir());
    }
}
