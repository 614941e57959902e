//! What a serving ring reports of its operations.

use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};

use super::operation::{OperationKind, Owner};

/// Something that happened to an owner.
#[derive(Debug)]
pub struct Completion {
    pub owner: Owner,
    pub what: What,
    /// More completions of this operation will come; otherwise it is over and may be started again.
    pub goes_on: bool,
}

/// What happened.
#[derive(Debug)]
pub enum What {
    /// A connection was accepted; it does not block, and is closed on exec.
    Accepted(OwnedFd),
    /// `EMFILE` or `ENFILE` at the limit of open files.
    NotAccepted(io::Error),
    /// Bytes came: [`super::serving::ServingRing::received`] has them until the next completion is
    /// taken.
    Received,
    /// The peer has closed: no bytes will come.
    End,
    /// Nothing can be received any more.
    ReceiveFailed(io::Error),
    /// The watched descriptor is readable.
    Readable,
    /// There is room to send, or the connection has failed.
    Room,
    /// The operation came to its end without news.
    Nothing,
}

#[inline]
pub(super) fn what_happened(kind: OperationKind, result: i32) -> What {
    let error = |result: i32| io::Error::from_raw_os_error(-result);
    match (kind, result) {
        (OperationKind::Accept, 0..) => What::Accepted(own(result)),
        (OperationKind::Accept, _) if result == -libc::ECANCELED => What::Nothing,
        (OperationKind::Accept, _) => What::NotAccepted(error(result)),
        (OperationKind::Receive, 1..) => What::Received,
        (OperationKind::Receive, 0) => What::End,
        (OperationKind::Receive, _) if [-libc::ENOBUFS, -libc::ECANCELED].contains(&result) => {
            What::Nothing
        }
        (OperationKind::Receive, _) => What::ReceiveFailed(error(result)),
        (OperationKind::Watch, _) => What::Readable,
        (OperationKind::Room, _) => What::Room,
        (OperationKind::Send | OperationKind::Cancel, _) => What::Nothing,
    }
}

fn own(descriptor: RawFd) -> OwnedFd {
    // SAFETY: the kernel has just opened it for the one operation that reports it, and each
    // completion is taken once.
    unsafe { OwnedFd::from_raw_fd(descriptor) }
}
