//! Opens what is a regular file and nothing else: for names that come from whom we do not trust. To open a FIFO would
//! wait for its other end, and to open a device does whatever its driver does.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Opens it for reading. What it is, is looked at while it is held and not opened (`O_PATH`, open(2)), so that no other
/// takes its place meanwhile.
///
/// # Errors
/// Those of open(2), and that it is no regular file.
pub fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    let held = options.read(true).custom_flags(libc::O_PATH).open(path)?;
    if !held.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    File::open(format!("/proc/self/fd/{}", held.as_raw_fd()))
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn a_file_is_opened_and_a_device_or_a_folder_is_not() {
        let mut own = open(Path::new("/proc/self/exe")).unwrap();
        let mut magic = [0; 4];
        own.read_exact(&mut magic).unwrap();
        assert_eq!(&magic, b"\x7fELF");
        for other in ["/dev/zero", "/tmp"] {
            let why = open(Path::new(other)).unwrap_err().to_string();
            assert_eq!(why, "it is no regular file", "{other}");
        }
        let absent = open(Path::new("/no/such/file")).unwrap_err();
        assert_eq!(absent.kind(), io::ErrorKind::NotFound);
    }
}
