//! The ring of an event: the kernel writes at its head, we read at its tail.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use super::record::{self, PerfRecord};
use crate::mapped_file::page_bytes;
use crate::mapping::Mapping;

/// Offsets of `data_head` and `data_tail` in `struct perf_event_mmap_page`.
const HEAD_AT: usize = 1024;
const TAIL_AT: usize = 1032;

/// A page that holds both ends, and behind it the ring.
#[derive(Debug)]
pub(super) struct EventRing {
    pages: Mapping,
    /// Offset at which the ring begins.
    begins: usize,
    has_stacks: bool,
    /// The bytes that were read last, in one piece.
    read: Vec<u8>,
}

impl EventRing {
    /// Maps a ring of so many pages, a power of two.
    pub(super) fn of(event: &OwnedFd, pages: usize, has_stacks: bool) -> io::Result<Self> {
        let page = usize::try_from(page_bytes()?).map_err(io::Error::other)?;
        Ok(Self {
            pages: Mapping::writable(Some(event.as_fd()), page * (1 + pages))?,
            begins: page,
            has_stacks,
            read: Vec::new(),
        })
    }

    pub(super) fn drain(&mut self, mut take: impl FnMut(PerfRecord<'_>)) {
        let head = self.end(HEAD_AT).load(Ordering::Acquire);
        let tail = self.end(TAIL_AT).load(Ordering::Relaxed);
        self.copy(tail, head);
        // From here on the kernel may overwrite these bytes.
        self.end(TAIL_AT).store(head, Ordering::Release);
        let mut bytes = self.read.as_slice();
        while let Some(record) = record::next(&mut bytes, self.has_stacks) {
            take(record);
        }
    }

    fn end(&self, place: usize) -> &AtomicU64 {
        // SAFETY: the first page is mapped as long as we are, holds this aligned number, and is changed by the kernel as
        // an atomic is.
        unsafe { self.pages.start().byte_add(place).cast().as_ref() }
    }

    /// Copies the bytes between the two ends, which only grow, into one piece.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "both are at most the ring's length"
    )]
    fn copy(&mut self, tail: u64, head: u64) {
        let ring = self.pages.bytes() - self.begins;
        let whole = head.saturating_sub(tail).min(ring as u64) as usize;
        let begin = (tail % ring as u64) as usize;
        let first = whole.min(ring - begin);
        self.read.clear();
        for (from, length) in [(begin, first), (0, whole - first)] {
            // SAFETY: `from + length` is at most the ring's length; the kernel writes none of these bytes until the tail
            // has passed them, and they are bytes.
            let piece = unsafe {
                let start = self.pages.start().byte_add(self.begins + from);
                std::slice::from_raw_parts(start.as_ptr(), length)
            };
            self.read.extend_from_slice(piece);
        }
    }
}
