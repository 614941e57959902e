//! What all rings have in common: how they are made, and which of their errors are no failures.

use std::io;

use io_uring::{Builder, IoUring, cqueue, squeue};

/// Builder of a ring for one thread. Completions are produced only when the thread asks for them,
/// and every queued operation is handed over, even if the one before it failed.
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

/// Turns errors that only end a wait early into success: a timeout, a signal, or completions that
/// must be taken first.
pub(super) fn unless_early(outcome: io::Result<usize>) -> io::Result<()> {
    match outcome {
        Err(error) => match error.raw_os_error() {
            Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => Ok(()),
            _ => Err(error),
        },
        Ok(_) => Ok(()),
    }
}
