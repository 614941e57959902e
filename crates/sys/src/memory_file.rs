//! A file that exists only in memory: to hand children what nobody else may read, and to collect
//! what they write.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

use crate::descriptor;

/// Most bytes of a file that is handed over; it holds a certificate and its key.
const MOST_HANDED_BYTES: u64 = 16 << 20;
/// With these seals, neither the bytes nor the length, nor the seals themselves, can be changed
/// (`F_ADD_SEALS`, fcntl(2)).
const ALL_SEALS: SealFlags = SealFlags::WRITE
    .union(SealFlags::SHRINK)
    .union(SealFlags::GROW)
    .union(SealFlags::SEAL);

/// Makes a file with these bytes that has no name anywhere and that nobody can change any more. No
/// program has it unless it is handed over on purpose
/// ([`crate::process::ChildSetup::handed_over`]); that program reads it by [`take_sealed`].
///
/// # Errors
/// `EMFILE` at the limit of open files, `ENOMEM`.
pub fn sealed(bytes: &[u8]) -> io::Result<OwnedFd> {
    let mut file = sealable(c"linerate-identity")?;
    file.write_all(bytes)?;
    fcntl_add_seals(&file, ALL_SEALS)?;
    Ok(file.into())
}

/// Reads a file that was handed over under this number, and closes it. To be called once per
/// number.
///
/// # Errors
/// `EBADF` where nothing is open under it, `InvalidData` where it is no sealed file of at most 16 MiB.
pub fn take_sealed(number: u32) -> io::Result<Vec<u8>> {
    let file = File::from(descriptor::take(number, ALL_SEALS)?);
    let bytes = file.metadata()?.len();
    if bytes > MOST_HANDED_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut content = vec![0; usize::try_from(bytes).map_err(io::Error::other)?];
    // The position in the file is shared by all processes that have it, so it is not used.
    file.read_exact_at(&mut content, 0)?;
    Ok(content)
}

/// Makes an empty file that has no name anywhere and that no other program has, unless it gets it
/// as its input or output.
///
/// # Errors
/// `EMFILE` at the limit of open files.
pub fn empty() -> io::Result<File> {
    Ok(memfd_create(c"linerate", MemfdFlags::CLOEXEC)?.into())
}

/// Makes a file that can be sealed. The name appears only in `/proc`.
pub(crate) fn sealable(name: &CStr) -> io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    Ok(memfd_create(name, flags)?.into())
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsRawFd as _, IntoRawFd as _};
    use std::process::Command;
    use std::sync::Arc;

    use super::*;
    use crate::process::{ChildSetup, prepare_child};

    #[test]
    fn a_child_has_it_only_if_it_is_handed_over() {
        let file = Arc::new(sealed(b"between us").unwrap());
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let said = |handed_over| {
            let mut command = Command::new("cat");
            let setup = ChildSetup {
                handed_over,
                ..ChildSetup::default()
            };
            prepare_child(command.args([&path, &path]), setup);
            command.output().unwrap().stdout
        };
        assert_eq!(said(vec![]), b"");
        assert_eq!(said(vec![file]), b"between usbetween us");
    }

    #[test]
    fn nobody_can_change_it_and_what_is_not_sealed_is_not_taken() {
        let mut file = File::from(sealed(b"between us").unwrap());
        assert!(file.write_all(b"x").is_err() && file.set_len(3).is_err());
        let number = |file: File| u32::try_from(file.into_raw_fd()).unwrap();
        let taken = number(file);
        assert_eq!(take_sealed(taken).unwrap(), b"between us");
        let error = take_sealed(number(empty().unwrap())).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
