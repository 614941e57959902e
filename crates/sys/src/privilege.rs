//! What executing a file gives beyond what its caller has.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::PermissionsExt as _;

use crate::check_size;

/// Whether it is set-user-ID or set-group-ID, or has capabilities of its own (capabilities(7)). A loader then takes no
/// libraries from whoever starts it (ld.so(8), secure-execution mode).
///
/// # Errors
/// Those of fstat(2).
pub fn is_given_by(program: &File) -> io::Result<bool> {
    let mode = program.metadata()?.permissions().mode();
    let is_set_group = mode & libc::S_ISGID != 0 && mode & libc::S_IXGRP != 0;
    Ok(mode & libc::S_ISUID != 0 || is_set_group || has_capabilities(program))
}

/// A file system without extended attributes has none of these either.
fn has_capabilities(program: &File) -> bool {
    let name = c"security.capability";
    // SAFETY: the name ends with a zero; a length of 0 asks for the size alone, so nothing is written.
    let bytes =
        unsafe { libc::fgetxattr(program.as_raw_fd(), name.as_ptr(), std::ptr::null_mut(), 0) };
    check_size(bytes).is_ok_and(|bytes| bytes > 0)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};

    use super::*;

    #[test]
    fn the_bits_of_another_user_or_group_are_a_privilege_and_those_of_access_are_not() {
        let path = std::env::temp_dir().join(format!("linerate-privilege-{}", std::process::id()));
        let program = File::create(&path).unwrap();
        let given = [0o755, 0o4755, 0o2755, 0o2644, 0o1755].map(|mode| {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            is_given_by(&program).unwrap()
        });
        fs::remove_file(&path).unwrap();
        assert_eq!(given, [false, true, true, false, false]);
    }
}
