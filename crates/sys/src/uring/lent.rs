//! A ring, and the memory that the kernel uses on its behalf as long as any operation is under way.

use std::io;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

use io_uring::IoUring;
use io_uring::types::{CancelBuilder, Timespec};

/// Longest wait for cancelled operations to end; after that their memory is leaked.
pub(super) const CANCEL_PATIENCE: Timespec = Timespec::new().sec(1);

/// A ring together with the memory it uses; dereferences to the ring. When it is dropped, first all
/// operations are ended, then the ring is dropped, and last the memory. Memory that the kernel
/// might still use is leaked.
pub(super) struct Lent<M> {
    ring: ManuallyDrop<IoUring>,
    pub(super) memory: ManuallyDrop<M>,
}

impl<M> Lent<M> {
    pub(super) fn new(ring: IoUring, memory: M) -> Self {
        Self {
            ring: ManuallyDrop::new(ring),
            memory: ManuallyDrop::new(memory),
        }
    }

    /// Cancels all operations. Returns whether all have ended.
    fn becomes_quiet(&self) -> bool {
        let all = CancelBuilder::any().all();
        let cancelled = self
            .ring
            .submitter()
            .register_sync_cancel(Some(CANCEL_PATIENCE), all);
        match cancelled {
            Ok(()) => true,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        }
    }
}

impl<M> Deref for Lent<M> {
    type Target = IoUring;

    #[inline]
    fn deref(&self) -> &IoUring {
        &self.ring
    }
}

impl<M> DerefMut for Lent<M> {
    #[inline]
    fn deref_mut(&mut self) -> &mut IoUring {
        &mut self.ring
    }
}

impl<M> Drop for Lent<M> {
    fn drop(&mut self) {
        let is_quiet = self.becomes_quiet();
        // SAFETY: dropped once, here, and not used afterwards.
        unsafe { ManuallyDrop::drop(&mut self.ring) };
        if is_quiet {
            // SAFETY: as above; and no operation is under way that could use this memory.
            unsafe { ManuallyDrop::drop(&mut self.memory) };
        }
    }
}
