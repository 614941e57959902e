//! Sends frames through a device, from a ring of memory that the kernel reads (`PACKET_TX_RING`):
//! one system call for all frames in it.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;

use libc::tpacket2_hdr as Header;
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use super::ring::Ring;
use super::{NO_PROTOCOL, bind, device, open, set};

/// Offset at which the kernel expects a frame: behind its header (`TPACKET2_HDRLEN` without the
/// address).
const HEADER_BYTES: usize = size_of::<Header>().next_multiple_of(libc::TPACKET_ALIGNMENT);
/// How often a send is tried. A full queue of the far end's CPU empties in the meantime.
const MOST_TRIES: u32 = 10_000;

/// Opens a socket that sends whole frames through a device of the caller's network namespace, one
/// frame per call.
///
/// # Errors
/// `EPERM` without `CAP_NET_RAW` there, `ENODEV` for a device that is not there.
pub fn outlet(name: &str, passes_by_qdisc: bool) -> io::Result<OwnedFd> {
    let device = device(name)?;
    let socket = open()?;
    if passes_by_qdisc {
        set(&socket, libc::PACKET_QDISC_BYPASS, &1_i32)?;
    }
    bind(&socket, device, NO_PROTOCOL)?;
    Ok(socket)
}

/// Has each send on such a socket begin with a `virtio_net_hdr`, which says how the kernel cuts it.
///
/// # Errors
/// None are known.
pub fn expect_segments(socket: &OwnedFd) -> io::Result<()> {
    set(socket, libc::PACKET_VNET_HDR, &1_i32)
}

/// Frames that are written into memory and leave with one call.
#[derive(Debug)]
pub struct TransmitRing {
    socket: OwnedFd,
    ring: Ring,
}

impl TransmitRing {
    /// Has an outlet send `frames` frames at once, of at most `longest_frame_bytes`; both are
    /// rounded up.
    ///
    /// # Errors
    /// `ENOMEM`.
    pub fn on(socket: OwnedFd, frames: usize, longest_frame_bytes: usize) -> io::Result<Self> {
        let option = libc::PACKET_TX_RING;
        let ring = Ring::open(&socket, option, frames, HEADER_BYTES + longest_frame_bytes)?;
        Ok(Self { socket, ring })
    }

    /// Writes the next frame into the ring if the kernel has sent what its slot held; returns
    /// whether it did.
    pub fn write(&mut self, frame: &[u8]) -> bool {
        if self.ring.status().load(Ordering::Acquire) != libc::TP_STATUS_AVAILABLE {
            return false;
        }
        let length = frame.len().min(self.ring.slot_bytes() - HEADER_BYTES);
        let slot = self.ring.slot();
        // SAFETY: the slot is ours, by its status; header and frame fit it, and neither overlaps
        // `frame`.
        unsafe {
            (*slot.cast::<Header>().as_ptr()).tp_len = length as u32;
            let place = slot.add(HEADER_BYTES).as_ptr();
            std::ptr::copy_nonoverlapping(frame.as_ptr(), place, length);
        }
        let status = self.ring.status();
        status.store(libc::TP_STATUS_SEND_REQUEST, Ordering::Release);
        self.ring.advance();
        true
    }

    /// Has the kernel send the frames in the ring.
    ///
    /// # Errors
    /// `EMSGSIZE` for a frame that is longer than the device allows, `ENETDOWN`, and `ENOBUFS` when
    /// there was no room for a long time.
    pub fn send(&self) -> io::Result<()> {
        for _ in 1..MOST_TRIES {
            match send(&self.socket, &[], SendFlags::empty()) {
                // Frames that were not sent are still in the ring.
                Err(Errno::NOBUFS | Errno::AGAIN | Errno::INTR) => {}
                sent => return Ok(sent.map(drop)?),
            }
        }
        Ok(send(&self.socket, &[], SendFlags::empty()).map(drop)?)
    }
}
