//! A folder by a descriptor: what is done to it cannot reach what somebody puts in its place.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::FromRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::check;

/// Opens a folder: to look at, or to lock.
///
/// # Errors
/// `ENOTDIR` where something else stands there, a link included; `EACCES`.
pub fn open(path: &Path) -> io::Result<File> {
    const ITSELF: libc::c_int = libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let path = CString::new(path.as_os_str().as_bytes())?;
    let flags = libc::O_RDONLY | libc::O_CLOEXEC | ITSELF;
    // SAFETY: `path` ends with a zero and lives through the call.
    let fd = check(unsafe { libc::open(path.as_ptr(), flags) })?;
    // SAFETY: `fd` was just opened and nobody else owns it.
    Ok(unsafe { File::from_raw_fd(fd) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_a_link_nor_a_file_is_a_folder() {
        let root = std::env::temp_dir().join(format!("linerate-open-{}", std::process::id()));
        std::fs::create_dir(&root).unwrap();
        let (link, file) = (root.join("link"), root.join("file"));
        std::os::unix::fs::symlink(&root, &link).unwrap();
        std::fs::write(&file, "").unwrap();
        let opened = [&root, &link, &file].map(|path| open(path).map(drop));
        std::fs::remove_dir_all(&root).unwrap();
        let errors = opened.map(|opened| opened.err().and_then(|error| error.raw_os_error()));
        assert_eq!(errors, [None, Some(libc::ENOTDIR), Some(libc::ENOTDIR)]);
    }
}
