//! The folder of this user's programs for what is of no use after a restart of the machine.

use std::io;
use std::path::{Path, PathBuf};

use model::failure::Failure;
use sys::folder::Folder;

const NAME: &str = "linerate";

/// A folder of our state that nobody else may write to, open, with its path for messages.
#[derive(Debug)]
pub(super) struct StateFolder {
    pub(super) folder: Folder,
    pub(super) path: PathBuf,
}

/// Opens the folder of our state. For root it is `/run/linerate` whatever the environment says,
/// since sudo(8) can hand on another user's environment. For any other user, even one who is root
/// in a rig of theirs, it is `$XDG_RUNTIME_DIR/linerate`, or without that variable a folder of
/// their own among the temporary ones.
///
/// # Errors
/// When it cannot be made, is somebody else's, or lies where somebody else could exchange it.
pub(super) fn state() -> Result<StateFolder, Failure> {
    if sys::user::is_root() {
        let run = Folder::open(Path::new("/")).and_then(|root| root.below("run"));
        return open(run, "/run".into(), NAME);
    }
    let given = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let (above, name) = match given.filter(|path| path.is_absolute()) {
        Some(path) => (path, NAME.to_owned()),
        None => {
            let user = sys::user::ours_outside();
            (std::env::temp_dir(), format!("{NAME}-{user}"))
        }
    };
    // A link on the way there is the user's own.
    let opened = above.canonicalize().and_then(|real| Folder::open(&real));
    open(opened, above, &name)
}

fn open(above: io::Result<Folder>, path: PathBuf, name: &str) -> Result<StateFolder, Failure> {
    let above = above.map_err(|error| cannot(&path, &error))?;
    match above.keeps_ours() {
        Ok(true) => StateFolder {
            folder: above,
            path,
        }
        .below(name),
        Ok(false) => Err(cannot(&path, &"others could replace what is ours there")),
        Err(error) => Err(cannot(&path, &error)),
    }
}

impl StateFolder {
    /// A folder below this one, made where it is missing.
    ///
    /// # Errors
    /// As [`state`].
    pub(super) fn below(&self, name: &str) -> Result<Self, Failure> {
        let path = self.path.join(name);
        let made = match self.folder.make(name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.folder.below(name),
            made => made,
        };
        let ours = made.and_then(|folder| Ok((folder.is_ours()?, folder)));
        match ours {
            Ok((true, folder)) => Ok(Self { folder, path }),
            Ok((false, _)) => Err(cannot(&path, &"it belongs to somebody else")),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                Err(cannot(&path, &"it is no folder"))
            }
            Err(error) => Err(cannot(&path, &error)),
        }
    }
}

fn cannot(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    let advice = if sys::user::is_root() {
        "root's state is kept there: make it a folder that belongs to root and that nobody else may write to"
    } else {
        "set XDG_RUNTIME_DIR to a folder that is yours alone"
    };
    Failure {
        what: format!("{}: {error}", path.display()),
        advice: advice.to_owned(),
    }
}
