//! The folder that a service keeps from one start to the next, for what is expensive to make.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::{Path, PathBuf};

use model::Service;
use model::failure::Failure;
use sys::descent::Descent;
use sys::folder::Folder;

/// The cache of services that give up the powers of root: they may not use root's own cache.
const OF_ROOT: &str = "/var/cache/linerate";

/// The service's cache folder, made where it is missing; `None` for a service that mentions none.
pub(super) fn folder(service: &Service, descent: Descent) -> Result<Option<PathBuf>, Failure> {
    if !service.mentions("cache") {
        return Ok(None);
    }
    let above = match descent.owner() {
        Some(_) => PathBuf::from(OF_ROOT),
        None => of_user().ok_or_else(|| Failure {
            what: format!("{} has no folder for what it keeps", service.title),
            advice: "set HOME or XDG_CACHE_HOME".to_owned(),
        })?,
    };
    let above = above.join("services");
    let path = above.join(&service.name);
    make(&above, &service.name, descent.owner()).map_err(|error| Failure {
        what: format!("{}: making {}: {error}", service.title, path.display()),
        advice: "it keeps there what takes long to make".to_owned(),
    })?;
    Ok(Some(path))
}

fn of_user() -> Option<PathBuf> {
    let folder = |name| {
        let path = std::env::var_os(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    let cache = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")))?;
    Some(cache.join("linerate"))
}

/// Makes the folder. What another user put in its place is no cache of this service and is removed.
/// A name that leads elsewhere is refused.
fn make(above: &Path, name: &str, owner: Option<u32>) -> io::Result<()> {
    fs::create_dir_all(above)?;
    let above = Folder::open(above)?;
    let expected = owner.unwrap_or_else(sys::user::ours);
    match fs::symlink_metadata(above.path_of(name)?) {
        Ok(found) if found.is_dir() && found.uid() == expected => return Ok(()),
        Ok(_) => above.remove(name)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let made = above.make(name)?;
    owner.map_or(Ok(()), |owner| {
        chown(made.inside(), Some(owner), Some(owner))
    })
}
