//! What we write on a folder that we have made, so that it is known again by more than its name: an
//! extended attribute (xattr(7)). Those of the kernel's control groups can have one.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::user;
use crate::{check, check_size};

/// Longer ones are none of ours.
const MOST_BYTES: usize = 256;

/// Writes on a folder.
///
/// # Errors
/// `EOPNOTSUPP` where there are no such attributes, `EPERM` for a root without `CAP_SYS_ADMIN`.
pub fn write(folder: &Path, text: &str) -> io::Result<()> {
    let path = CString::new(folder.as_os_str().as_bytes())?;
    let (bytes, create) = (text.as_bytes(), libc::XATTR_CREATE);
    // SAFETY: path and name end with a zero, the value is readable for its length, and all live
    // through the call.
    check(unsafe {
        let value = bytes.as_ptr().cast();
        libc::lsetxattr(path.as_ptr(), name().as_ptr(), value, bytes.len(), create)
    })?;
    Ok(())
}

/// What stands on a folder; `None` where nothing of ours does.
#[must_use]
pub fn read(folder: &Path) -> Option<String> {
    let path = CString::new(folder.as_os_str().as_bytes()).ok()?;
    let mut bytes = [0_u8; MOST_BYTES];
    // SAFETY: path and name end with a zero, `bytes` is writable for its length, and all live through
    // the call.
    let found = unsafe {
        let value = bytes.as_mut_ptr().cast();
        libc::lgetxattr(path.as_ptr(), name().as_ptr(), value, bytes.len())
    };
    let length = check_size(found).ok()?;
    String::from_utf8(bytes[..length].to_vec()).ok()
}

/// Root's can be written by nobody else.
fn name() -> &'static std::ffi::CStr {
    if user::is_root() {
        c"trusted.linerate"
    } else {
        c"user.linerate"
    }
}
