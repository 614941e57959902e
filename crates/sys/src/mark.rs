//! A mark that we write on a folder that we have made, so that it is recognised by more than its
//! name: an extended attribute (xattr(7)). Folders of the kernel's control groups can have one too.

use std::io;
use std::path::Path;

use rustix::fs::{XattrFlags, lgetxattr, lsetxattr};

use crate::user;

/// Size of the largest mark that we read. Longer ones are not ours.
const MOST_BYTES: usize = 256;

/// Writes a mark on a folder.
///
/// # Errors
/// `EOPNOTSUPP` where there are no such attributes, `EPERM` for a root without `CAP_SYS_ADMIN`.
pub fn write(folder: &Path, text: &str) -> io::Result<()> {
    Ok(lsetxattr(
        folder,
        name(),
        text.as_bytes(),
        XattrFlags::CREATE,
    )?)
}

/// Reads the mark on a folder; `None` where there is none of ours.
pub fn read(folder: &Path) -> Option<String> {
    let mut bytes = [0; MOST_BYTES];
    let length = lgetxattr(folder, name(), &mut bytes[..]).ok()?;
    String::from_utf8(bytes[..length].to_vec()).ok()
}

/// Name of the attribute. Root's can be written by nobody else.
fn name() -> &'static std::ffi::CStr {
    if user::is_root() {
        c"trusted.linerate"
    } else {
        c"user.linerate"
    }
}
