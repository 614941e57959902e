//! The journal: changes that we made and have not undone. Each is on disk before it is made.
//!
//! The file `journal.jsonl` in our state folder has one line of JSON for each change that still
//! stands. We write a new file beside it, sync it and rename it, so a reader finds the journal
//! either before a write or after it. An entry names the boot and the network namespace in which
//! the change was made, and the process that made it. It gives the kind of change with typed
//! values, never a path: [`Change`] has a variant for each kind, and the code that makes such
//! changes knows how to undo them.

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
/// File to which the next version of the journal is written.
const NEXT: &str = "journal.next";

/// Why the journal could not be read or written.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct JournalError(String);

impl JournalError {
    /// Returns a function that makes an error about this file or folder.
    fn of(path: impl Display) -> impl Fn(io::Error) -> Self {
        move |error| Self(format!("{path}: {error}"))
    }
}

/// Reads the journal without locking it.
///
/// # Errors
/// When the folder does not belong to us alone, or its files cannot be read.
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

/// The journal, locked so that only we can change it, until it is dropped.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    found: Found,
    _lock: Lock,
}

impl Journal {
    /// Waits for the lock, for ten seconds at most, and reads the journal.
    ///
    /// # Errors
    /// Those of [`read`]; and, with the number of that process, when another process holds the
    /// lock.
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

    /// The entries, the oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.found.entries
    }

    /// The lines that this version cannot read.
    pub(crate) fn unknown(&self) -> &[UnknownLine] {
        &self.found.unknown
    }

    /// Records a change that is about to be made in the network namespace of this thread, and
    /// returns the entry's id. The entry is on disk when this returns.
    ///
    /// # Errors
    /// Those of writing a file. The change must then not be made.
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

    /// Replaces what an entry says about its change.
    ///
    /// # Errors
    /// Those of writing a file. The entry then stays as it was.
    pub fn amend(&mut self, id: u64, change: &Change) -> Result<(), JournalError> {
        let mut entries = self.entries().to_owned();
        for entry in entries.iter_mut().filter(|entry| entry.id == id) {
            entry.change = change.clone();
        }
        self.save(entries)
    }

    /// Removes an entry whose change was undone, or is known to have ended by itself.
    ///
    /// # Errors
    /// Those of writing a file. The entry then remains, and undoing its change again does no harm.
    pub fn remove(&mut self, id: u64) -> Result<(), JournalError> {
        let mut entries = self.entries().to_owned();
        entries.retain(|entry| entry.id != id);
        self.save(entries)
    }

    fn save(&mut self, entries: Vec<Entry>) -> Result<(), JournalError> {
        let unknown = self.found.unknown.clone();
        self.write(Found { entries, unknown })
    }

    /// Writes the journal to disk, and only then replaces our copy in memory.
    fn write(&mut self, found: Found) -> Result<(), JournalError> {
        let (path, next) = (self.folder.join(FILE), self.folder.join(NEXT));
        let write = || {
            let mut file = File::create(&next)?;
            file.write_all(&found.as_bytes())?;
            file.sync_all()
        };
        write().map_err(JournalError::of(next.display()))?;
        fs::rename(&next, &path).map_err(JournalError::of(path.display()))?;
        // Without this sync the renaming might not survive a crash.
        let sync = File::open(&self.folder).and_then(|folder| folder.sync_all());
        sync.map_err(JournalError::of(self.folder.display()))?;
        self.found = found;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
