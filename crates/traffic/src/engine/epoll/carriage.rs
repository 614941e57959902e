//! Moves bytes by a system call for each, and keeps account of those that are not copied.

use std::io;
use std::os::fd::BorrowedFd;

use sys::mapped_file::MappedPart;
use sys::zero_copy::{self, ZeroCopyTally};

use crate::engine::file_part::FileWay;
use crate::engine::transfer::{Calls, Transfer};

#[derive(Default)]
pub(in crate::engine) struct Carriage {
    tally: ZeroCopyTally,
}

impl Carriage {
    /// Takes what a connection's error queue has to tell; whether that was anything.
    pub(super) fn reap(&mut self, socket: BorrowedFd<'_>) -> bool {
        self.tally.untold() > 0 && zero_copy::reap(socket, &mut self.tally)
    }

    pub(super) fn tally(&self) -> ZeroCopyTally {
        self.tally
    }
}

impl Transfer for Carriage {
    const IS_AT_ONCE: bool = true;

    #[inline]
    fn receive(&mut self, socket: BorrowedFd<'_>, room: &mut [u8]) -> io::Result<Option<usize>> {
        Calls.receive(socket, room)
    }

    #[inline]
    fn send(&mut self, socket: BorrowedFd<'_>, bytes: &[u8], more: bool) -> io::Result<usize> {
        Calls.send(socket, bytes, more)
    }

    fn send_mapped(
        &mut self,
        socket: BorrowedFd<'_>,
        part: &MappedPart,
        way: FileWay,
    ) -> io::Result<usize> {
        let sent = match way {
            FileWay::ZeroCopy => part.send_uncopied(socket, &mut self.tally)?,
            FileWay::Sendfile | FileWay::Copy => part.send(socket)?,
        };
        Ok(sent.unwrap_or(0))
    }
}
