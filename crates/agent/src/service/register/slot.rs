//! The file of one entry: found, locked and read below the register's open folder.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use model::failure::Failure;

use super::Entry;
use super::place::StateFolder;

/// How long an entry may be unreadable, or locked by a process that only looks at it.
pub(super) const MOMENT: Duration = Duration::from_secs(1);
/// Larger than any entry with the end of its log, bytes.
const MOST_BYTES: u64 = 1 << 20;

/// The place of an entry, which may exist or not.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    place: Arc<StateFolder>,
    file: String,
}

/// Who owns a file of the register.
pub(super) enum SlotOwner {
    /// A living process, which wrote this entry.
    Living(Box<Entry>),
    /// Nobody any more; the file is locked by us for as long as this is open.
    Left(File),
    /// Nobody any more, but another process has locked the file to look at it.
    Looked,
}

impl Slot {
    pub(super) fn new(place: &Arc<StateFolder>, name: &str) -> Self {
        let (place, file) = (Arc::clone(place), format!("{name}.json"));
        Self { place, file }
    }

    /// Makes and locks the file; `None` where another process holds it.
    pub(super) fn take(&self) -> io::Result<Option<File>> {
        self.lock(self.place.folder.file(&self.file, true)?)
    }

    /// The owner of the file; `None` where there is no file. Waits up to `MOMENT` for a process
    /// that only looks at it.
    pub(super) fn hold(&self) -> io::Result<Option<SlotOwner>> {
        let mut held = Ok(None);
        sys::clock::wait_until(MOMENT, || {
            held = self.look();
            !matches!(held, Ok(Some(SlotOwner::Looked)))
        });
        held
    }

    /// The owner of the file now; `None` where there is no file.
    pub(super) fn look(&self) -> io::Result<Option<SlotOwner>> {
        let file = match self.place.folder.file(&self.file, false) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        Ok(Some(match self.lock(file)? {
            Some(file) => SlotOwner::Left(file),
            None => self.living_entry().map_or(SlotOwner::Looked, |entry| {
                SlotOwner::Living(Box::new(entry))
            }),
        }))
    }

    /// Locks the file; `None` where another process holds it. A lock on a file that was removed in
    /// the meantime is worth nothing, so that gives `None` too.
    fn lock(&self, file: File) -> io::Result<Option<File>> {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
            Ok(()) => {
                let there = fs::symlink_metadata(self.place.folder.path_of(&self.file)?);
                let there = there.map(|found| found.ino()).ok();
                let same = there == Some(file.metadata()?.ino());
                Ok(same.then_some(file))
            }
        }
    }

    /// The entry of an owner that lives.
    pub(super) fn living_entry(&self) -> Option<Entry> {
        self.entry().filter(|entry| entry.owner.is_alive())
    }

    /// The entry; `None` also while its owner writes it.
    pub(super) fn entry(&self) -> Option<Entry> {
        let file = self.place.folder.file(&self.file, false).ok()?;
        let mut text = String::new();
        file.take(MOST_BYTES).read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok()
    }

    pub(super) fn remove(&self) -> io::Result<()> {
        self.place.folder.remove(&self.file)
    }

    pub(super) fn cannot(&self, error: &dyn std::fmt::Display) -> Failure {
        Failure {
            what: format!("{}: {error}", self.path().display()),
            advice: "the list of running services is kept there".to_owned(),
        }
    }

    fn path(&self) -> PathBuf {
        self.place.path.join(&self.file)
    }
}
