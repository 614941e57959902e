//! Memory shared with others: with a file, the kernel, or children.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::ptr::NonNull;

/// A mapping, until it is dropped. Nothing here reads its contents.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

impl Mapping {
    /// Maps `bytes` bytes, at least one, to read and write: from the beginning of what the
    /// descriptor refers to or, without one, memory that children share.
    ///
    /// # Errors
    /// `ENOMEM`, and `ENODEV` for what cannot be mapped.
    pub(crate) fn writable(of: Option<BorrowedFd<'_>>, bytes: usize) -> io::Result<Self> {
        let flags = match of {
            Some(_) => libc::MAP_SHARED,
            None => libc::MAP_SHARED | libc::MAP_ANONYMOUS,
        };
        Self::new(of, (0, bytes), libc::PROT_READ | libc::PROT_WRITE, flags)
    }

    /// Maps `bytes` bytes of a file from an offset on, a multiple of the page, and populates the
    /// mapping with the pages that the cache has.
    ///
    /// # Errors
    /// `ENODEV` where the file system cannot do it, `ENOMEM`.
    pub(crate) fn readable(
        file: BorrowedFd<'_>,
        (offset, bytes): (libc::off_t, usize),
    ) -> io::Result<Self> {
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        Self::new(Some(file), (offset, bytes), libc::PROT_READ, flags)
    }

    fn new(
        of: Option<BorrowedFd<'_>>,
        (offset, bytes): (libc::off_t, usize),
        protection: libc::c_int,
        flags: libc::c_int,
    ) -> io::Result<Self> {
        let of = of.map_or(-1, |of| of.as_raw_fd());
        let anywhere = std::ptr::null_mut();
        // SAFETY: the kernel chooses the place, so nothing of ours is there.
        let start = unsafe { libc::mmap(anywhere, bytes, protection, flags, of, offset) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(io::Error::last_os_error)?;
        Ok(Self { start, bytes })
    }

    /// Where the mapping begins, at the start of a page.
    #[inline]
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Length of the mapping.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it was mapped by us with this length, and whoever refers into the mapping also
        // holds it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
