//! Sends without a copy through a ring (`IORING_OP_SEND_ZC`), and what the kernel tells of them later.

use std::io;
use std::os::fd::BorrowedFd;

use io_uring::squeue::Entry;
use io_uring::types::Fd;
use io_uring::{cqueue, opcode};

use super::{OperationKind, Owner, ServingRing, fd};
use crate::zero_copy::{self, ZeroCopyTally};

/// `IORING_SEND_ZC_REPORT_USAGE` and `IORING_NOTIF_USAGE_ZC_COPIED` of linux/io_uring.h, Linux 6.2.
const REPORT_USAGE: u16 = 1 << 3;
const USAGE_COPIED: u32 = 1 << 31;
/// What is told later is of no one connection.
const NOBODY: Owner = Owner::new(0, 0);

/// Each operation tells two things: what came of the send, and when the kernel is done with the
/// memory.
#[derive(Debug, Default)]
pub(super) struct Constants {
    /// What came of the one that was handed over last.
    result: Option<i32>,
    /// Operations that sent nothing, and of whose memory is still to be told: that it was copied.
    void: u64,
    tally: ZeroCopyTally,
}

impl Constants {
    pub(super) fn note(&mut self, entry: &cqueue::Entry) {
        if cqueue::notif(entry.flags()) {
            return self.note_release(entry.result().cast_unsigned() & USAGE_COPIED != 0);
        }
        self.result = Some(entry.result());
        let is_followed = u64::from(cqueue::more(entry.flags()));
        match entry.result() {
            1.. => self.tally.sends += is_followed,
            _ => self.void += is_followed,
        }
    }

    fn note_release(&mut self, is_copied: bool) {
        if is_copied && self.void > 0 {
            self.void -= 1;
        } else {
            self.tally.tell(1, is_copied);
        }
    }
}

impl ServingRing {
    /// Sends as much as there is room for, at once and without a copy if that can be; `None` when
    /// there is no room.
    ///
    /// # Errors
    /// `EPIPE` or `ECONNRESET` when the peer is gone; else as of [`Self::enter`].
    pub fn send_constant(
        &mut self,
        socket: BorrowedFd<'_>,
        constant: &'static [u8],
    ) -> io::Result<Option<usize>> {
        let operation = operation(fd(socket), constant)?;
        self.queue(NOBODY, OperationKind::Constant, operation)?;
        self.enter(false)?;
        // Told not to wait, it has ended while it was handed over.
        let result = self.constants.result.take();
        let result = result.ok_or_else(|| io::Error::other("a send that must not wait goes on"))?;
        let error = match usize::try_from(result) {
            Ok(sent) => return Ok(Some(sent)),
            Err(_) => io::Error::from_raw_os_error(-result),
        };
        if zero_copy::is_declined(&error) {
            return zero_copy::send_copied(socket, constant, &mut self.constants.tally);
        }
        crate::socket::or_later(Err(error))
    }

    /// What became of them so far.
    ///
    /// # Errors
    /// Those of [`Self::enter`].
    pub fn zero_copy(&mut self) -> io::Result<ZeroCopyTally> {
        // The kernel tells of as many at a time as the ring has room for.
        loop {
            let untold = self.constants.tally.untold();
            self.enter(false)?;
            if self.constants.tally.untold() == untold {
                return Ok(self.constants.tally);
            }
        }
    }
}

/// A send that never waits, and of whose memory is told whether it was copied.
pub(in crate::uring) fn operation(socket: Fd, constant: &'static [u8]) -> io::Result<Entry> {
    let length = u32::try_from(constant.len()).map_err(io::Error::other)?;
    let send = opcode::SendZc::new(socket, constant.as_ptr(), length);
    let send = send.flags(libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT);
    Ok(send.zc_flags(REPORT_USAGE).build())
}
