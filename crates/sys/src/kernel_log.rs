//! What the kernel has told of itself, as far as its ring of messages still holds it.

use std::io;

use crate::check;

/// `SYSLOG_ACTION_READ_ALL` and `SYSLOG_ACTION_SIZE_BUFFER` of syslog(2).
const READ_ALL: libc::c_int = 3;
const SIZE_BUFFER: libc::c_int = 10;

/// The messages in the ring, oldest first, each with its level and time before it. They stay in it.
///
/// # Errors
/// `EPERM` for who may not, where `kernel.dmesg_restrict` is set; `ENOSYS` where the kernel keeps none.
pub fn text() -> io::Result<String> {
    // SAFETY: this action takes no buffer.
    let most = check(unsafe { libc::klogctl(SIZE_BUFFER, std::ptr::null_mut(), 0) })?;
    let mut bytes = vec![0_u8; usize::try_from(most).unwrap_or(0)];
    // SAFETY: the buffer is writable for `most` bytes, its own size.
    let read = check(unsafe { libc::klogctl(READ_ALL, bytes.as_mut_ptr().cast(), most) })?;
    bytes.truncate(usize::try_from(read).unwrap_or(0));
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
