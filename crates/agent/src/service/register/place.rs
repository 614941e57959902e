//! Where this user's programs keep what is of no use after a restart of the machine.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use model::message::Failure;

/// `$XDG_RUNTIME_DIR/linerate`; without that variable `/run/linerate` for root, and for anybody
/// else a folder of his own among the temporary ones, also where he is root in a rig of his.
///
/// # Errors
/// When somebody else owns it: he could have put there what he likes.
pub(super) fn runtime_folder() -> Result<PathBuf, Failure> {
    let user = sys::process::user_outside();
    let path = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let path = match path.filter(|path| path.is_absolute()) {
        Some(path) => path.join("linerate"),
        None if user == 0 => PathBuf::from("/run/linerate"),
        None => std::env::temp_dir().join(format!("linerate-{user}")),
    };
    let made = DirBuilder::new().mode(0o700).create(&path);
    match made {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(cannot(&path, &error)),
        _ if is_ours(&path) => Ok(path),
        _ => Err(cannot(&path, &"it belongs to somebody else")),
    }
}

/// Without following a link, which anybody may put into a public folder.
fn is_ours(path: &Path) -> bool {
    let is_ours = |found: fs::Metadata| {
        found.is_dir() && found.uid() == sys::process::user() && found.mode() & 0o022 == 0
    };
    fs::symlink_metadata(path).is_ok_and(is_ours)
}

fn cannot(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure {
        what: format!("{}: {error}", path.display()),
        advice: "set XDG_RUNTIME_DIR to a folder that is yours alone".to_owned(),
    }
}
