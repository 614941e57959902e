//! A folder by a descriptor: what is done to it cannot reach what somebody puts in its place.

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Opens a folder: to look at, or to lock.
///
/// # Errors
/// `ENOTDIR` where something else stands there, a link included; `EACCES`.
pub fn open(path: &Path) -> io::Result<File> {
    let itself = libc::O_DIRECTORY | libc::O_NOFOLLOW;
    File::options().read(true).custom_flags(itself).open(path)
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
