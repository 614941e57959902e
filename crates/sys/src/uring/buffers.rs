//! Memory that the kernel receives into: buffers that are lent to it through a ring of their own.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::types::BufRingEntry;
use io_uring::{Submitter, cqueue};

/// The kernel requires the ring of buffers to begin a page.
const PAGE_BYTES: usize = 4096;
/// Long enough for most answers in one piece, short enough that many stay in the cache, bytes.
pub(super) const BUFFER_BYTES: usize = 2 * 1024;
/// The group number by which the kernel knows these buffers; a ring has no other group.
pub(super) const GROUP: u16 = 0;

/// The buffers, and the ring through which they are given to the kernel. A buffer belongs to the
/// kernel from [`Self::give`] until a completion names it, and to us until [`Self::give_back`].
pub(super) struct Buffers {
    /// `count` entries, read by the kernel; the first one holds the tail that we publish.
    entries: PageBlock,
    /// `count` buffers of [`BUFFER_BYTES`], written by the kernel.
    bytes: PageBlock,
    /// A power of two.
    count: u16,
    tail: u16,
    /// The buffer that the last completion named, and the number of bytes in it.
    held: Option<(u16, usize)>,
}

impl Buffers {
    /// Makes the buffers, registers them and gives them all to the kernel.
    pub(super) fn register(submitter: &Submitter<'_>, count: u16) -> io::Result<Self> {
        let count = count.next_power_of_two();
        let mut buffers = Self {
            entries: PageBlock::new(usize::from(count) * size_of::<BufRingEntry>()),
            bytes: PageBlock::new(usize::from(count) * BUFFER_BYTES),
            count,
            tail: 0,
            held: None,
        };
        let address = buffers.entries.start.as_ptr() as u64;
        // SAFETY: `address` begins a zeroed page-aligned block of `count` entries. It is freed
        // only with `self`, which the owner drops after the ring or, if it cannot, leaks.
        unsafe { submitter.register_buf_ring_with_flags(address, count, GROUP, 0) }?;
        (0..count).for_each(|id| buffers.give(id));
        Ok(buffers)
    }

    /// Remembers the buffer that a completion names, if it names one.
    #[inline]
    pub(super) fn hold(&mut self, completion: &cqueue::Entry) {
        if let Some(id) = cqueue::buffer_select(completion.flags()) {
            self.held = Some((id, usize::try_from(completion.result()).unwrap_or(0)));
        }
    }

    /// Gives the held buffer back to the kernel.
    #[inline]
    pub(super) fn give_back(&mut self) {
        if let Some((id, _)) = self.held.take() {
            self.give(id);
        }
    }

    /// Gives a buffer to the kernel, which may write to it from now on.
    #[inline]
    fn give(&mut self, id: u16) {
        debug_assert!(id < self.count, "there is no buffer {id}");
        let entries = self.entries.start.cast::<BufRingEntry>();
        // SAFETY: the index is below `count`, and this entry is not between the kernel's head and
        // the published tail: at most `count` buffers are given at a time.
        let entry = unsafe {
            entries
                .add(usize::from(self.tail & (self.count - 1)))
                .as_mut()
        };
        entry.set_addr(self.start_of(id).as_ptr() as u64);
        entry.set_len(BUFFER_BYTES as u32);
        entry.set_bid(id);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the tail lies in the first entry, within the block and aligned to two bytes;
        // beside us only the kernel looks at it, and it does so atomically.
        let tail = unsafe { AtomicU16::from_ptr(BufRingEntry::tail(entries.as_ptr()).cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }

    /// The bytes that the kernel wrote into the held buffer; empty where none is held.
    #[inline]
    pub(super) fn held(&self) -> &[u8] {
        let (id, length) = self.held.unwrap_or_default();
        let length = length.min(BUFFER_BYTES);
        // SAFETY: the block was zeroed, so all of it is initialised. The kernel writes to this
        // buffer only after it was given back, which takes `self` exclusively; where none is held,
        // the length is zero.
        unsafe { std::slice::from_raw_parts(self.start_of(id).as_ptr(), length) }
    }

    fn start_of(&self, id: u16) -> NonNull<u8> {
        let index = usize::from(id & (self.count - 1));
        // SAFETY: the index is below `count`, so the result lies within the block.
        unsafe { self.bytes.start.add(index * BUFFER_BYTES) }
    }
}

/// Zeroed memory that begins a page, behind a raw pointer because the kernel writes to it.
struct PageBlock {
    start: NonNull<u8>,
    layout: Layout,
}

impl PageBlock {
    fn new(bytes: usize) -> Self {
        let layout = Layout::from_size_align(bytes.max(1), PAGE_BYTES)
            .expect("the alignment is a power of two and the size is far from the limit");
        // SAFETY: the size is above zero.
        let start = unsafe { alloc_zeroed(layout) };
        let start = NonNull::new(start).unwrap_or_else(|| handle_alloc_error(layout));
        Self { start, layout }
    }
}

impl Drop for PageBlock {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, and freed once.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}
