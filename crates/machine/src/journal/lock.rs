//! The lock that admits one writer at a time. The kernel releases it when its process ends, however
//! that happens.

use std::fs::{File, TryLockError};
use std::io::{self, Seek as _, Write as _};
use std::path::Path;
use std::time::Duration;

use super::{JournalError, Owner};

const FILE: &str = "lock";
const PATIENCE: Duration = Duration::from_secs(10);

/// The lock, held until it is dropped.
#[derive(Debug)]
pub(super) struct Lock(#[expect(dead_code, reason = "open is what it is")] File);

impl Lock {
    /// Waits for the lock, then writes into its file which process has it.
    pub(super) fn take(folder: &Path) -> Result<Self, JournalError> {
        Self::take_within(folder, PATIENCE)
    }

    pub(super) fn take_within(folder: &Path, patience: Duration) -> Result<Self, JournalError> {
        let path = folder.join(FILE);
        let failed = JournalError::of(path.display());
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(&path).map_err(&failed)?;
        let mut outcome = Ok(());
        let is_decided = || {
            outcome = file.try_lock();
            !matches!(outcome, Err(TryLockError::WouldBlock))
        };
        sys::clock::wait_until(patience, is_decided);
        match outcome {
            Ok(()) => sign(&mut file).map_err(&failed)?,
            Err(TryLockError::Error(error)) => return Err(failed(error)),
            Err(TryLockError::WouldBlock) => {
                let (folder, by) = (folder.display(), signature(&path));
                return Err(JournalError(format!(
                    "the journal in {folder} is in use by {by}; try again when it is done"
                )));
            }
        }
        Ok(Self(file))
    }
}

fn sign(file: &mut File) -> io::Result<()> {
    let owner = serde_json::to_string(&Owner::this_process()?)?;
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(owner.as_bytes())
}

/// The process that has the lock, by the lock's file; it may not have written all of it yet.
fn signature(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let owner = serde_json::from_str::<Owner>(&text);
    owner.map_or_else(|_| "another process".to_owned(), |owner| owner.to_string())
}
