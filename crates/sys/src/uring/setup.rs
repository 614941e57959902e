//! What all rings have in common: how they are made, and which failures of theirs are none.

use std::io;

use io_uring::{Builder, IoUring, cqueue, squeue};

/// For a ring of one thread, whose completions are put together only when it asks for them; every
/// operation that it queues is handed over, whatever became of the one before it.
pub(super) fn builder(completions: u32) -> Builder<squeue::Entry, cqueue::Entry> {
    let mut builder = IoUring::builder();
    builder
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_submit_all()
        .setup_clamp()
        .setup_cqsize(completions);
    builder
}

/// The end of the patience, a signal, and completions to be taken first are no failures.
pub(super) fn unless_early(outcome: io::Result<usize>) -> io::Result<()> {
    match outcome {
        Err(error) => match error.raw_os_error() {
            Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => Ok(()),
            _ => Err(error),
        },
        Ok(_) => Ok(()),
    }
}
