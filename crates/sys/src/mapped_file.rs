//! A part of a file, mapped as memory to send from. Nothing here reads it: others may write to the
//! file at any time, or truncate it, and only the kernel reports that as an error (`EFAULT`).
//! Within the page of the file's new end it is no error: what was cut off there is sent as zeros.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};

use crate::check_size;
use crate::mapping::Mapping;
use crate::socket::or_later;

/// Some bytes of a file, mapped until this is dropped.
#[derive(Debug)]
pub struct MappedPart {
    pages: Mapping,
    /// Bytes of the first page before those that were asked for.
    before: usize,
}

impl MappedPart {
    /// Maps `bytes` bytes, at least one, from an offset on, and populates the mapping with the
    /// pages that the cache has.
    ///
    /// # Errors
    /// `ENODEV` where the file system cannot do it, `ENOMEM`.
    pub fn of(file: BorrowedFd<'_>, offset: u64, bytes: usize) -> io::Result<Self> {
        let before = offset % page_bytes()?;
        let from = libc::off_t::try_from(offset - before).map_err(io::Error::other)?;
        let before = usize::try_from(before).map_err(io::Error::other)?;
        let pages = Mapping::readable(file, (from, before + bytes))?;
        Ok(Self { pages, before })
    }

    /// Sends as much as there is room for, copied; `None` when there is no room.
    ///
    /// # Errors
    /// `EPIPE` or `ECONNRESET` when the peer is gone, `EFAULT` when the file was truncated.
    pub fn send(&self, socket: BorrowedFd<'_>) -> io::Result<Option<usize>> {
        let from = self.pages.start().as_ptr().wrapping_add(self.before);
        let bytes = self.pages.bytes() - self.before;
        // SAFETY: the bytes are mapped for as long as we are; the kernel reads them by itself, and
        // returns EFAULT where there are none behind the mapping.
        or_later(check_size(unsafe {
            libc::send(socket.as_raw_fd(), from.cast(), bytes, libc::MSG_NOSIGNAL)
        }))
    }
}

/// Size of a page, bytes.
///
/// # Errors
/// None are known.
pub fn page_bytes() -> io::Result<u64> {
    // SAFETY: no pointers.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(bytes).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read as _;
    use std::os::fd::AsFd as _;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn bytes_from_anywhere_in_a_file_are_sent_and_none_from_behind_its_end() {
        let path = std::env::temp_dir().join(format!("linerate-mapped-{}", std::process::id()));
        let content: Vec<u8> = (0..20_000_u32).map(|number| (number % 251) as u8).collect();
        std::fs::write(&path, &content).unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let part = MappedPart::of(file.as_fd(), 9_000, 5_000).unwrap();
        assert_eq!(part.send(ours.as_fd()).unwrap(), Some(5_000));
        let mut came = vec![0; 5_000];
        theirs.read_exact(&mut came).unwrap();
        assert!(came == content[9_000..14_000]);
        file.set_len(0).unwrap();
        let error = part.send(ours.as_fd()).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EFAULT));
    }
}
