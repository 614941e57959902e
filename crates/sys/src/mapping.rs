//! Memory that others have too: a file's, the kernel's, or that of children.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::ptr::NonNull;

/// A mapping, until it is dropped. Nothing here looks at what is in it.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

impl Mapping {
    /// So many bytes, at least one, to be read and written: from the beginning of what the descriptor is of, or,
    /// without one, memory that children share.
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

    /// So many bytes of a file from an offset on, a multiple of the page, with those that the cache has.
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

    /// Where it begins, at the start of a page.
    #[inline]
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// How long it is.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it was mapped by us with this length, and whoever has a reference into it holds it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
