//! What the guests are made of, unpacked below the user's cache: each package in a folder named by
//! its version and checksum, and beside it a note of which one is in use. What is there is used as
//! it is, without a network; `fetch` brings the newest.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::apt::{Package, World};
use crate::target;

/// Digits of a checksum in the name of a folder: enough that no two packages share one.
const CHECKSUM_DIGITS: usize = 16;

/// The packages of the guests. What is in use stays as it is while this is open.
pub(super) struct Store {
    folder: PathBuf,
    lock: File,
}

/// The same in our hands alone, to be changed.
pub(super) struct Changing(Store);

/// A package that is wanted, and what is done to it once it is unpacked.
pub(super) struct Wanted {
    /// What it is kept as.
    pub(super) name: &'static str,
    pub(super) suites: &'static [(&'static str, &'static str)],
    pub(super) choose: fn(&World) -> anyhow::Result<Package>,
    /// Given the folder that it was unpacked into.
    pub(super) finish: fn(&Path) -> anyhow::Result<()>,
    /// Whether a folder that was finished is as it would be now.
    pub(super) is_current: fn(&Path) -> bool,
}

impl Store {
    /// Waits until no other program changes the store.
    pub(super) fn open() -> anyhow::Result<Self> {
        let store = Self::unlocked()?;
        if store.lock.try_lock_shared().is_err() {
            store.say_who_waits();
            store.lock.lock_shared()?;
        }
        Ok(store)
    }

    /// The folder of a package that is in use.
    pub(super) fn in_use(&self, wanted: &Wanted) -> Option<PathBuf> {
        let name = fs::read_to_string(self.note(wanted)).ok()?;
        let folder = self.folder.join(name);
        (folder.is_dir() && (wanted.is_current)(&folder)).then_some(folder)
    }

    fn unlocked() -> anyhow::Result<Self> {
        let cache = target::cache()
            .context("neither XDG_CACHE_HOME nor HOME says where to keep the guests' packages")?;
        let folder = cache.join("linerate/vm");
        let shown = folder.display().to_string();
        fs::create_dir_all(&folder).with_context(|| format!("making {shown}"))?;
        let lock = File::create(folder.join("in-use"))?;
        Ok(Self { folder, lock })
    }

    fn say_who_waits(&self) {
        let shown = self.folder.display();
        eprintln!("waiting for another program that uses {shown}");
    }

    fn note(&self, wanted: &Wanted) -> PathBuf {
        self.folder.join(format!("{}.in-use", wanted.name))
    }
}

impl Changing {
    /// Waits until no other program has the store open: what is taken away could be in use there.
    pub(super) fn open() -> anyhow::Result<Self> {
        let store = Store::unlocked()?;
        if store.lock.try_lock().is_err() {
            store.say_who_waits();
            store.lock.lock()?;
        }
        Ok(Self(store))
    }

    /// The folder of a package: the one in use, or else the newest.
    pub(super) fn obtain(&self, wanted: &Wanted) -> anyhow::Result<PathBuf> {
        match self.0.in_use(wanted) {
            Some(folder) => Ok(folder),
            None => self.fetch(wanted),
        }
    }

    /// The folder of the newest package, which is in use from now on.
    pub(super) fn fetch(&self, wanted: &Wanted) -> anyhow::Result<PathBuf> {
        let what = || format!("the package for `{}` cannot be had", wanted.name);
        self.newest(wanted).with_context(what)
    }

    fn newest(&self, wanted: &Wanted) -> anyhow::Result<PathBuf> {
        let store = &self.0;
        let world = World::open(&store.folder.join("apt").join(wanted.name), wanted.suites)?;
        let package = (wanted.choose)(&world)?;
        let folder = store.folder.join(folder_name(&package));
        if !folder.is_dir() || !(wanted.is_current)(&folder) {
            eprintln!("fetching {} {}", package.name, package.version);
            let unfinished = store.folder.join("unfinished");
            let _ = fs::remove_dir_all(&unfinished);
            world.unpack(&package, &unfinished)?;
            (wanted.finish)(&unfinished)?;
            let _ = fs::remove_dir_all(&folder);
            fs::rename(&unfinished, &folder)?;
        }
        let before = store.in_use(wanted).filter(|before| *before != folder);
        fs::write(store.note(wanted), folder_name(&package))?;
        if let Some(before) = before {
            fs::remove_dir_all(before)?;
        }
        Ok(folder)
    }
}

fn folder_name(package: &Package) -> String {
    let checksum = package.sha256.get(..CHECKSUM_DIGITS);
    let checksum = checksum.unwrap_or(&package.sha256);
    format!("{}_{}_{checksum}", package.name, package.version)
}
