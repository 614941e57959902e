//! The kernel's own messages, as far as its ring buffer still holds them.

use std::io;

use crate::check;

/// `SYSLOG_ACTION_READ_ALL` and `SYSLOG_ACTION_SIZE_BUFFER` of syslog(2).
const READ_ALL: libc::c_int = 3;
const SIZE_BUFFER: libc::c_int = 10;

/// Returns the messages in the ring, oldest first, each after its level and time. They stay in the
/// ring.
///
/// # Errors
/// `EPERM` without the right to read them, where `kernel.dmesg_restrict` is set; `ENOSYS` where the
/// kernel keeps no log.
pub fn text() -> io::Result<String> {
    // SAFETY: this action takes no buffer.
    let most = check(unsafe { libc::klogctl(SIZE_BUFFER, std::ptr::null_mut(), 0) })?;
    let mut bytes = vec![0_u8; usize::try_from(most).unwrap_or(0)];
    // SAFETY: the buffer is writable for `most` bytes, its own size.
    let read = check(unsafe { libc::klogctl(READ_ALL, bytes.as_mut_ptr().cast(), most) })?;
    bytes.truncate(usize::try_from(read).unwrap_or(0));
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
