//! Several datagrams sent or received by one system call: sendmmsg(2) and recvmmsg(2).

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};

use crate::check;

/// Room for several datagrams, each in a slot of its own, with the headers that the kernel needs.
pub struct Batch {
    bytes: Vec<u8>,
    slot_bytes: usize,
    pieces: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
    /// Number of slots that the last receive has filled.
    filled: usize,
}

impl Batch {
    /// Makes room for so many datagrams of at most `slot_bytes` bytes each.
    pub fn new(datagrams: usize, slot_bytes: usize) -> Self {
        let piece = libc::iovec {
            iov_base: std::ptr::null_mut(),
            iov_len: slot_bytes,
        };
        // SAFETY: an all-zero mmsghdr is valid: numbers, and pointers that may be null.
        let header: libc::mmsghdr = unsafe { std::mem::zeroed() };
        Self {
            bytes: vec![0; datagrams * slot_bytes],
            slot_bytes,
            pieces: vec![piece; datagrams],
            headers: vec![header; datagrams],
            filled: 0,
        }
    }

    /// Fills the first `count` slots by `write`, which returns the length of what it wrote.
    pub fn fill(&mut self, count: usize, mut write: impl FnMut(&mut [u8]) -> usize) {
        let slots = self.bytes.chunks_exact_mut(self.slot_bytes);
        for (slot, piece) in slots.zip(&mut self.pieces).take(count) {
            piece.iov_len = write(slot).min(slot.len());
        }
    }

    /// The datagrams of the last receive, truncated to their slots.
    pub fn received(&self) -> impl Iterator<Item = &[u8]> {
        let slots = self.bytes.chunks_exact(self.slot_bytes);
        let filled = slots.zip(&self.headers).take(self.filled);
        filled.map(|(slot, header)| &slot[..(header.msg_len as usize).min(slot.len())])
    }

    /// Sends the first `count` datagrams, each as long as its slot or as `fill` wrote it. Returns
    /// how many the kernel accepted, at least one.
    ///
    /// # Errors
    /// Those of sendmmsg(2), if none was accepted.
    pub fn send(&mut self, socket: BorrowedFd<'_>, count: usize) -> io::Result<usize> {
        let headers = &mut self.aimed()[..count];
        let count = libc::c_uint::try_from(count).map_err(io::Error::other)?;
        // SAFETY: each of `count` headers points to one piece, and that to a slot, readable for its
        // length; all are in vectors of ours, which outlive the call.
        let sent = check(unsafe {
            libc::sendmmsg(
                socket.as_raw_fd(),
                headers.as_mut_ptr(),
                count,
                libc::MSG_NOSIGNAL,
            )
        })?;
        usize::try_from(sent).map_err(io::Error::other)
    }

    /// Waits for the first datagram, and receives those that are there, up to `most`. Returns how
    /// many.
    ///
    /// # Errors
    /// Those of recvmmsg(2); `WouldBlock` when none arrived within the socket's timeout.
    pub fn receive(&mut self, socket: BorrowedFd<'_>, most: usize) -> io::Result<usize> {
        let most = most.min(self.headers.len());
        let count = libc::c_uint::try_from(most).map_err(io::Error::other)?;
        let headers = self.aimed();
        // SAFETY: each of `count` headers points to one piece, and that to a slot, writable for its
        // length; all are in vectors of ours, which outlive the call. A null timeout means none.
        let came = check(unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                headers.as_mut_ptr(),
                count,
                libc::MSG_WAITFORONE,
                std::ptr::null_mut(),
            )
        })?;
        self.filled = usize::try_from(came).map_err(io::Error::other)?;
        Ok(self.filled)
    }

    /// Points the headers at the slots and returns them, anew for each call, because the batch may
    /// move between two calls.
    fn aimed(&mut self) -> &mut [libc::mmsghdr] {
        let slots = self.bytes.chunks_exact_mut(self.slot_bytes);
        for ((slot, piece), header) in slots.zip(&mut self.pieces).zip(&mut self.headers) {
            piece.iov_base = slot.as_mut_ptr().cast();
            header.msg_hdr.msg_iov = piece;
            header.msg_hdr.msg_iovlen = 1;
        }
        &mut self.headers
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;

    use super::super::tests::pair;
    use super::*;

    #[test]
    fn a_batch_is_sent_by_one_call_and_received_by_another() {
        let [sender, receiver] = pair();
        let mut outgoing = Batch::new(5, 100);
        let mut numbers = 0..;
        outgoing.fill(5, |datagram| {
            datagram.fill(numbers.next().unwrap());
            100
        });
        assert_eq!(outgoing.send(sender.as_fd(), 5).unwrap(), 5);
        assert_eq!(outgoing.send(sender.as_fd(), 1).unwrap(), 1);
        let mut incoming = Batch::new(4, 101);
        assert_eq!(incoming.receive(receiver.as_fd(), 4).unwrap(), 4);
        let came: Vec<&[u8]> = incoming.received().collect();
        assert_eq!(came, [[0; 100], [1; 100], [2; 100], [3; 100]]);
        // It receives no more than there are.
        assert_eq!(incoming.receive(receiver.as_fd(), 9).unwrap(), 2);
        let came: Vec<u8> = incoming.received().map(|slot| slot[0]).collect();
        assert_eq!(came, [4, 0]);
    }
}
