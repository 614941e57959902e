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

/// How long an entry may be unreadable or held by somebody who only looks.
pub(super) const MOMENT: Duration = Duration::from_secs(1);
/// More than any entry has, with its log's end.
const MOST_BYTES: u64 = 1 << 20;

/// Where an entry is, if it is.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    place: Arc<StateFolder>,
    file: String,
}

/// Whose a file of the register is.
pub(super) enum SlotOwner {
    /// Of a process that lives, and says this.
    Living(Box<Entry>),
    /// Of nobody any more; ours for as long as this is open.
    Left(File),
    /// Of nobody any more, but somebody else looks at it.
    Looked,
}

impl Slot {
    pub(super) fn new(place: &Arc<StateFolder>, name: &str) -> Self {
        let (place, file) = (Arc::clone(place), format!("{name}.json"));
        Self { place, file }
    }

    /// Makes and locks the file; `None` where somebody else holds it.
    pub(super) fn take(&self) -> io::Result<Option<File>> {
        self.lock(self.place.folder.file(&self.file, true)?)
    }

    /// Whose the file is; `None` where there is none. Who only looks at it is given a moment.
    pub(super) fn hold(&self) -> io::Result<Option<SlotOwner>> {
        let mut held = Ok(None);
        sys::clock::wait_until(MOMENT, || {
            held = self.look();
            !matches!(held, Ok(Some(SlotOwner::Looked)))
        });
        held
    }

    /// Whose the file is at this moment.
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

    /// A lock on a file that was taken away meanwhile is worth nothing: as good as held by another.
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
