//! A file that lies in memory alone: to hand children what nobody else may read, and to take what they
//! write.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{FromRawFd as _, OwnedFd};

use crate::check;

/// Makes a file with these bytes that has no name anywhere. Programs that this process starts
/// inherit its descriptor, and find the bytes at `/proc/self/fd/NUMBER`.
///
/// # Errors
/// `EMFILE` at the limit of open files, `ENOMEM`.
pub fn inherited(bytes: &[u8]) -> io::Result<OwnedFd> {
    let mut file = create(0)?;
    file.write_all(bytes)?;
    Ok(file.into())
}

/// Makes an empty file that has no name anywhere and that no other program has, unless it is given as
/// its input or output.
///
/// # Errors
/// `EMFILE` at the limit of open files.
pub fn empty() -> io::Result<File> {
    create(libc::MFD_CLOEXEC)
}

fn create(flags: libc::c_uint) -> io::Result<File> {
    // SAFETY: the name is a constant that ends with a NUL.
    let fd = check(unsafe { libc::memfd_create(c"linerate".as_ptr(), flags) })?;
    // SAFETY: `fd` was just opened and nobody else owns it.
    Ok(unsafe { File::from_raw_fd(fd) })
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd as _;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_child_reads_it_from_its_beginning() {
        let file = inherited(b"between us").unwrap();
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let output = Command::new("cat").args([&path, &path]).output().unwrap();
        assert_eq!(output.stdout, b"between usbetween us");
    }
}
