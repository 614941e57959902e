//! The journal: what we changed and have not changed back, on disk before it was changed.
//!
//! One line of JSON for each change that still stands, in `journal.jsonl` of our state folder. It
//! is rewritten beside itself, synced and renamed, so a reader finds the journal before a write or
//! after it. A change names the boot and the network namespace it was made in and the process that
//! made it, and what kind it is with typed values, never a path: [`Change`] has a variant for each
//! kind, and whoever makes such changes knows how to undo them.

mod entry;
mod folder;
mod lines;
mod lock;
mod owner;

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use thiserror::Error;

pub use entry::{Change, Entry, LeverChange, RigChange};
pub use lines::{Found, UnknownLine};
pub use owner::{Owner, boot_id};

use folder::folder;
use lock::Lock;

const FILE: &str = "journal.jsonl";
/// Where the next journal is written.
const NEXT: &str = "journal.next";

/// Why the journal could not be read or written.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct JournalError(String);

impl JournalError {
    /// What failed with a file or a folder.
    fn of(path: impl Display) -> impl Fn(io::Error) -> Self {
        move |error| Self(format!("{path}: {error}"))
    }
}

/// The journal as it was found, to look at.
///
/// # Errors
/// When the folder is not ours alone.
pub fn read() -> Result<Found, JournalError> {
    read_in(&folder()?)
}

fn read_in(folder: &Path) -> Result<Found, JournalError> {
    if folder::check(folder)?.is_none() {
        return Ok(Found::default());
    }
    let path = folder.join(FILE);
    match fs::read(&path) {
        Ok(bytes) => Ok(Found::in_bytes(&path, &bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Found::default()),
        Err(error) => Err(JournalError::of(path.display())(error)),
    }
}

/// The journal, ours alone to change until this is dropped.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    found: Found,
    _lock: Lock,
}

impl Journal {
    /// Waits its turn, for ten seconds at most, and reads what stands.
    ///
    /// # Errors
    /// As [`read`]; and when another process keeps the journal to itself, by its number.
    pub fn open() -> Result<Self, JournalError> {
        Self::open_in(folder()?)
    }

    pub(crate) fn open_in(folder: PathBuf) -> Result<Self, JournalError> {
        folder::make(&folder)?;
        let lock = Lock::take(&folder)?;
        let found = read_in(&folder)?;
        Ok(Self {
            folder,
            found,
            _lock: lock,
        })
    }

    /// What stands, the oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.found.entries
    }

    /// What this version cannot read.
    pub(crate) fn unknown(&self) -> &[UnknownLine] {
        &self.found.unknown
    }

    /// Writes down a change that is about to be made, from the network namespace of this thread; it
    /// is on the disk when this returns. Its number.
    ///
    /// # Errors
    /// Those of writing a file. Then the change must not be made.
    pub fn add(&mut self, owner: Owner, change: Change) -> Result<u64, JournalError> {
        let id = self.found.next_id();
        let entry = Entry {
            id,
            boot_id: boot_id().map_err(JournalError::of("/proc/sys/kernel/random/boot_id"))?,
            namespace: sys::namespace::current_network_inode()
                .map_err(JournalError::of("/proc/thread-self/ns/net"))?,
            cookie: sys::namespace::current_network_cookie().ok(),
            owner,
            change,
        };
        self.save([self.entries(), &[entry]].concat())?;
        Ok(id)
    }

    /// Writes down more of a change that stands.
    ///
    /// # Errors
    /// Those of writing a file. Then the entry says what it said before.
    pub fn amend(&mut self, id: u64, change: &Change) -> Result<(), JournalError> {
        let mut entries = self.entries().to_owned();
        for entry in entries.iter_mut().filter(|entry| entry.id == id) {
            entry.change = change.clone();
        }
        self.save(entries)
    }

    /// Takes an entry off whose change was undone, or is known to have ended by itself.
    ///
    /// # Errors
    /// Those of writing a file. Then the entry still stands, and undoing it again does no harm.
    pub fn remove(&mut self, id: u64) -> Result<(), JournalError> {
        let mut entries = self.entries().to_owned();
        entries.retain(|entry| entry.id != id);
        self.save(entries)
    }

    fn save(&mut self, entries: Vec<Entry>) -> Result<(), JournalError> {
        let unknown = self.found.unknown.clone();
        self.write(Found { entries, unknown })
    }

    /// The disk first, then what we know.
    fn write(&mut self, found: Found) -> Result<(), JournalError> {
        let (path, next) = (self.folder.join(FILE), self.folder.join(NEXT));
        let write = || {
            let mut file = File::create(&next)?;
            file.write_all(&found.as_bytes())?;
            file.sync_all()
        };
        write().map_err(JournalError::of(next.display()))?;
        fs::rename(&next, &path).map_err(JournalError::of(path.display()))?;
        // The new name must be on the disk as well.
        let sync = File::open(&self.folder).and_then(|folder| folder.sync_all());
        sync.map_err(JournalError::of(self.folder.display()))?;
        self.found = found;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
