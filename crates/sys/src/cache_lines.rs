//! Cache lines in memory that nobody has used before, for threads that hand them to one another.

use std::io;
use std::sync::atomic::AtomicU32;

use crate::mapping::Mapping;

/// Lines on a page. They lie 128 bytes apart, since processors fetch two of 64 bytes at once.
pub const LINES_OF_A_PAGE: usize = 32;
const LINE_BYTES: usize = 128;
/// The largest default page size of Linux (arm64, ppc64), bytes. Where pages are smaller, the rest
/// of each stays unused, which takes no memory.
const PAGE_BYTES: usize = 1 << 16;

/// Pages with a number on every line, all 0 at first. The kernel allocates the memory of a page
/// near the CPU of the thread that touches it first.
#[derive(Debug)]
pub struct CacheLines {
    pages: Mapping,
    count: usize,
}

// SAFETY: what is reached through the pointer is atomic and stays mapped as long as the lines live.
unsafe impl Send for CacheLines {}
// SAFETY: as above.
unsafe impl Sync for CacheLines {}

impl CacheLines {
    /// Maps `count` pages, at least one.
    ///
    /// # Errors
    /// `ENOMEM`.
    pub fn new(count: usize) -> io::Result<Self> {
        let bytes = count
            .checked_mul(PAGE_BYTES)
            .ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self {
            pages: Mapping::writable(None, bytes)?,
            count,
        })
    }

    /// Number of pages.
    pub fn pages(&self) -> usize {
        self.count
    }

    /// The number on a line of a page.
    ///
    /// # Panics
    /// Where there is no such page or line.
    pub fn line(&self, page: usize, line: usize) -> &AtomicU32 {
        assert!(page < self.count && line < LINES_OF_A_PAGE);
        // SAFETY: the place is within the mapping by the line above, aligned as the mapping is to a page, and mapped for
        // as long as `self`; every value of its bytes is a number.
        unsafe {
            let place = self
                .pages
                .start()
                .add(page * PAGE_BYTES + line * LINE_BYTES);
            place.cast().as_ref()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn a_line_begins_at_0_is_what_was_put_there_and_no_other_is_the_same() {
        let lines = CacheLines::new(3).unwrap();
        let all = || {
            (0..lines.pages()).flat_map(|page| (0..LINES_OF_A_PAGE).map(move |line| (page, line)))
        };
        for (number, (page, line)) in (1..).zip(all()) {
            assert_eq!(lines.line(page, line).swap(number, Ordering::Relaxed), 0);
        }
        for (number, (page, line)) in (1..).zip(all()) {
            assert_eq!(lines.line(page, line).load(Ordering::Relaxed), number);
        }
    }
}
