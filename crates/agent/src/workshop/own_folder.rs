//! The folder of a study's commands: new, in our register for as long as we live, and taken away by the
//! next study where one that was killed has left it.

use std::path::{Path, PathBuf};

use model::failure::Failure;
use sys::folder::Folder;

use crate::service::leftovers;
use crate::service::register::Claim;
use crate::service::register::studies;

/// A folder of ours. Dropping it takes it away, with all that came from it.
pub(crate) struct OwnFolder {
    path: PathBuf,
    held: Folder,
    /// Goes after the folder.
    _claim: Claim,
}

impl OwnFolder {
    /// Makes one of a kind below a folder, which only we may enter.
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

    /// As commands are told.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// For ourselves: nothing that is put in its place is reached by it.
    pub(crate) fn inside(&self) -> PathBuf {
        self.held.inside()
    }
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        leftovers::clear(&self.path);
    }
}
