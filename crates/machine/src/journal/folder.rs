//! The journal's folder, which must belong to our user alone.

use std::env;
use std::fs::{self, DirBuilder, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use super::JournalError;

/// The folder of root's journal.
const OF_ROOT: &str = "/var/lib/linerate";
const NAME: &str = "linerate";

/// The folder of this user's journal: `/var/lib/linerate` for root, otherwise `linerate` in
/// `$XDG_STATE_HOME`, which defaults to `~/.local/state` (XDG Base Directory 0.8).
///
/// # Errors
/// Where the environment does not name such a folder.
pub(super) fn folder() -> Result<PathBuf, JournalError> {
    // An ordinary user who is root within a rig keeps using the user's own journal.
    if sys::user::is_root() {
        return Ok(PathBuf::from(OF_ROOT));
    }
    let absolute = |name| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let state = absolute("XDG_STATE_HOME");
    let state = state.or_else(|| Some(absolute("HOME")?.join(".local/state")));
    let nowhere = || {
        JournalError(
            "no folder for the journal: neither XDG_STATE_HOME nor HOME is set to an absolute path; \
             set one of them"
                .to_owned(),
        )
    };
    Ok(state.ok_or_else(nowhere)?.join(NAME))
}

/// Creates the folder and its parents where they do not exist.
pub(super) fn make(folder: &Path) -> Result<(), JournalError> {
    let unusable = JournalError::of(named(folder));
    if let Some(above) = folder.parent() {
        fs::create_dir_all(above).map_err(&unusable)?;
    }
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(unusable(error)),
        _ => check(folder).map(drop),
    }
}

/// Checks that nobody else may write to the folder; `None` where it does not exist.
pub(super) fn check(folder: &Path) -> Result<Option<()>, JournalError> {
    match fs::symlink_metadata(folder) {
        Ok(found) => match wrong(&found, sys::user::ours()) {
            None => Ok(Some(())),
            Some(what) => Err(JournalError(format!(
                "{} {what}, so others could have written what we would undo; look at what is in it, \
                 then move it away or make it yours: chown and chmod 700",
                named(folder)
            ))),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(JournalError::of(named(folder))(error)),
    }
}

fn named(folder: &Path) -> String {
    format!("the journal's folder {}", folder.display())
}

fn wrong(found: &Metadata, user: u32) -> Option<String> {
    let mode = found.mode() & 0o7777;
    if !found.is_dir() {
        Some("is no folder".to_owned())
    } else if found.uid() != user {
        Some(format!("belongs to user {} and not to {user}", found.uid()))
    } else if mode != 0o700 {
        Some(format!("has mode {mode:o} and not 700"))
    } else {
        None
    }
}
