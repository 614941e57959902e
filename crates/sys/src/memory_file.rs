//! A file that lies in memory alone, to hand children what nobody else may read.

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
    // SAFETY: the name is a constant that ends with a NUL.
    let fd = check(unsafe { libc::memfd_create(c"linerate".as_ptr(), 0) })?;
    // SAFETY: `fd` was just opened and nobody else owns it.
    let mut file = unsafe { File::from_raw_fd(fd) };
    file.write_all(bytes)?;
    Ok(file.into())
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
