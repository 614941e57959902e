//! The packages that guests are made of, unpacked below the user's cache: each in a folder named by
//! its version and checksum, with a note beside it of which one is in use. Packages in the store
//! are used as they are, without a network; `fetch` brings the newest.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::target;

/// Ending of a note's name.
const NOTE: &str = ".in-use";
/// Script that downloads a package and makes it ready.
const FETCH: &str = include_str!("package.sh");
/// Environment variable that names another mirror.
const MIRROR_VARIABLE: &str = "LINERATE_DEBIAN_MIRROR";
const USUAL_MIRROR: &str = "http://deb.debian.org";

/// The store of the guests' packages. While it is open, no package in use is removed.
pub(super) struct Store {
    folder: PathBuf,
    _lock: File,
}

/// A package that is wanted, and what is done to it once it is unpacked.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    /// Name of the package in the store.
    pub(super) name: &'static str,
    pub(super) package: &'static str,
    /// Where Debian has it: lines with a folder of the mirror and a suite below it.
    pub(super) suites: &'static str,
    /// Shell script that is run in the folder of the unpacked package.
    pub(super) finish: &'static str,
    /// Name and text of a file that the script uses. If the text in the store differs, the package
    /// is out of date.
    pub(super) options: Option<(&'static str, &'static str)>,
}

impl Store {
    /// Opens the store; removes what no note names, unless another program has the store open.
    pub(super) fn open() -> anyhow::Result<Self> {
        let cache = target::cache()
            .context("neither XDG_CACHE_HOME nor HOME says where to keep the guests' packages")?;
        let folder = cache.join("linerate/vm");
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        let lock = File::create(folder.join("in-use"))?;
        if lock.try_lock().is_ok() {
            take_away_unnamed(&folder)?;
            lock.unlock()?;
        }
        lock.lock_shared()?;
        Ok(Self {
            folder,
            _lock: lock,
        })
    }

    /// The folder of a package: the one in use, or else the newest.
    pub(super) fn obtain(&self, wanted: &Wanted) -> anyhow::Result<PathBuf> {
        if let Some(folder) = self.in_use(wanted) {
            return Ok(folder);
        }
        let _changing = self.change()?;
        // The program that we waited for may have brought it.
        let found = self.in_use(wanted);
        found.map_or_else(|| self.newest(wanted), Ok)
    }

    /// Downloads the newest package, which is in use from now on, and returns its folder.
    pub(super) fn fetch(&self, wanted: &Wanted) -> anyhow::Result<PathBuf> {
        let _changing = self.change()?;
        self.newest(wanted)
    }

    fn in_use(&self, wanted: &Wanted) -> Option<PathBuf> {
        let note = self.folder.join(format!("{}{NOTE}", wanted.name));
        let folder = self.folder.join(fs::read_to_string(note).ok()?);
        let is_as_now = |(name, text): (&str, &str)| {
            fs::read_to_string(folder.join(name)).is_ok_and(|made_with| made_with == text)
        };
        let is_ready = folder.is_dir() && wanted.options.is_none_or(is_as_now);
        is_ready.then_some(folder)
    }

    /// Locks the store for changes: no other program adds to it until the returned file is dropped.
    fn change(&self) -> anyhow::Result<File> {
        let lock = File::create(self.folder.join("changing"))?;
        if lock.try_lock().is_err() {
            let shown = self.folder.display();
            eprintln!("waiting for another program that adds to {shown}");
            lock.lock()?;
        }
        Ok(lock)
    }

    fn newest(&self, wanted: &Wanted) -> anyhow::Result<PathBuf> {
        let set = std::env::var(MIRROR_VARIABLE).ok();
        let mirror = set.filter(|mirror| !mirror.is_empty());
        let mirror = mirror.unwrap_or_else(|| USUAL_MIRROR.to_owned());
        let Wanted {
            name,
            package,
            suites,
            finish,
            options,
        } = *wanted;
        let (file, text) = options.unwrap_or_default();
        let mut fetch = Command::new("sh");
        fetch.args([
            "-c", FETCH, "sh", name, package, &mirror, suites, finish, file, text,
        ]);
        // Our standard output is for what a guest prints.
        fetch.current_dir(&self.folder).stdout(std::io::stderr());
        let status = fetch.status()?;
        ensure!(
            status.success(),
            "the package for `{name}` cannot be had. See that {mirror} can be reached (apt's own proxy \
             settings hold), or set {MIRROR_VARIABLE} to another mirror"
        );
        let folder = self.in_use(wanted);
        folder.with_context(|| format!("no package for `{name}`, though it was brought"))
    }
}

/// Removes all folders except those of apt and of the packages in use.
fn take_away_unnamed(store: &Path) -> anyhow::Result<()> {
    let entries = fs::read_dir(store)?.collect::<Result<Vec<_>, _>>()?;
    let paths: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).collect();
    let is_note = |path: &&PathBuf| path.to_string_lossy().ends_with(NOTE);
    let notes = paths.iter().filter(is_note).map(fs::read_to_string);
    let mut named = notes.collect::<Result<Vec<_>, _>>()?;
    named.push("apt".to_owned());
    let is_named = |path: &Path| named.iter().any(|name| path.ends_with(name));
    for folder in paths.iter().filter(|path| path.is_dir() && !is_named(path)) {
        fs::remove_dir_all(folder)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_packages_that_a_note_names_stay() {
        let store = std::env::temp_dir().join(format!("xtask-store-{}", std::process::id()));
        let folders = ["apt", "kernel_1", "kernel_2", "unfinished"];
        for folder in folders {
            fs::create_dir_all(store.join(folder)).unwrap();
        }
        fs::write(store.join("6.1.in-use"), "kernel_2").unwrap();
        take_away_unnamed(&store).unwrap();
        let is_there = folders.map(|name| store.join(name).exists());
        fs::remove_dir_all(&store).unwrap();
        assert_eq!(is_there, [true, false, true, false]);
    }
}
