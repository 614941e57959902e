//! The folder of a study's commands. It is new, and stands in our register for as long as we live:
//! if we are killed, the next study removes it.

use std::path::{Path, PathBuf};

use model::failure::Failure;
use sys::folder::Folder;

use crate::service::leftovers;
use crate::service::register::Claim;
use crate::service::register::studies;

/// A folder of ours. Dropping it removes it, with all that came from it.
pub(crate) struct OwnFolder {
    path: PathBuf,
    held: Folder,
    /// Our entry in the register, which outlives the folder.
    _claim: Claim,
}

impl OwnFolder {
    /// Makes a folder named after `kind` below `above`, which only we may enter.
    pub(crate) fn new(above: &Path, kind: &str) -> Result<Self, Failure> {
        let path = leftovers::new_path(above, kind);
        let claim = studies::enter_commands(&path)?;
        let made = leftovers::make(&path)?;
        Ok(Self {
            path,
            held: made,
            _claim: claim,
        })
    }

    /// Its path, as commands are given it.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Its path for our own use, by the folder that we hold open: it never leads to something that
    /// was put in the folder's place.
    pub(crate) fn inside(&self) -> PathBuf {
        self.held.inside()
    }
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        leftovers::clear(&self.path);
    }
}
