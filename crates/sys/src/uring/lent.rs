//! A ring, and the memory that the kernel uses on its behalf for as long as anything is under way.

use std::io;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

use io_uring::IoUring;
use io_uring::types::{CancelBuilder, Timespec};

/// What cancelled operations may take to end before their memory is given up for lost.
pub(super) const CANCEL_PATIENCE: Timespec = Timespec::new().sec(1);

/// Behaves as the ring. When it is dropped all that is under way is ended, then the ring goes, and
/// last the memory; memory of which it is not certain that nobody uses it is leaked.
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

    /// Ends all operations, and tells whether they have ended.
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
            // SAFETY: the same; and no operation is under way that could use this memory.
            unsafe { ManuallyDrop::drop(&mut self.memory) };
        }
    }
}
