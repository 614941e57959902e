//! Sends frames through a device, several with one system call.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};

use super::outlet;
use crate::check_size;

/// The most frames that one call sends.
pub const MOST_AT_ONCE: usize = 32;

/// Sends whole frames through one device.
#[derive(Debug)]
pub struct Sender {
    socket: OwnedFd,
}

impl Sender {
    /// Sends through a device of the caller's network namespace; afterwards any thread may use
    /// it. Frames go straight to the device, past its queueing discipline.
    ///
    /// # Errors
    /// `EPERM` without `CAP_NET_RAW` there, `ENODEV` for a device that is not there.
    pub fn open(name: &str) -> io::Result<Self> {
        let socket = outlet(name, true)?;
        Ok(Self { socket })
    }

    /// Sends the first of these frames, at most [`MOST_AT_ONCE`], each from its Ethernet header on.
    /// Returns how many have left; an error is about the frame after them.
    ///
    /// # Errors
    /// For the first frame: `EMSGSIZE` when it is longer than the device allows, `ENETDOWN`,
    /// `ENOBUFS` when the device has no room.
    pub fn send<'a>(&self, frames: impl IntoIterator<Item = &'a [u8]>) -> io::Result<usize> {
        // SAFETY: all-zero is a valid iovec and a valid mmsghdr: empty, without addresses.
        let mut pieces: [libc::iovec; MOST_AT_ONCE] = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        let mut messages: [libc::mmsghdr; MOST_AT_ONCE] = unsafe { std::mem::zeroed() };
        let mut count = 0;
        for (frame, (piece, message)) in
            frames.into_iter().zip(pieces.iter_mut().zip(&mut messages))
        {
            piece.iov_base = frame.as_ptr().cast_mut().cast();
            piece.iov_len = frame.len();
            message.msg_hdr.msg_iov = piece;
            message.msg_hdr.msg_iovlen = 1;
            count += 1;
        }
        // SAFETY: the first `count` messages point at one piece each and that at a frame, all of
        // which outlive the call; the kernel only reads the frames.
        check_size(unsafe {
            libc::sendmmsg(
                self.socket.as_raw_fd(),
                messages.as_mut_ptr(),
                count,
                libc::MSG_DONTWAIT,
            ) as isize
        })
    }
}
