//! Frames that come in at a device, out of a ring of memory that the kernel writes into
//! (`PACKET_RX_RING`, packet(7) and the kernel's packet_mmap.rst): no system call for a frame, and
//! the moment when the kernel saw it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use libc::tpacket2_hdr as Header;

use super::{bind, device, open, set};
use crate::mapping::Mapping;
use crate::socket::option;

/// `TPACKET_V2`: each frame is there as soon as it came, where version 3 waits for a block of them.
const VERSION: libc::c_int = 1;
/// What stands before each frame at most: the header, a socket address and alignment.
const BEFORE_FRAME_BYTES: usize = 128;
/// A block is physically contiguous memory, so a small one is had on any machine.
const BLOCK_BYTES: usize = 64 * 1024;
const NS_PER_SECOND: u64 = 1_000_000_000;

/// Which frames of a device a receiver is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frames {
    /// Those that come in, not those that are sent there (`PACKET_IGNORE_OUTGOING`, Linux 4.20).
    Incoming,
    /// Both.
    All,
}

/// A frame in the ring.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// From the Ethernet header on, up to the receiver's longest.
    pub frame: &'a [u8],
    /// How long it was, which may be longer than what is there of it.
    pub bytes: u32,
    /// When the kernel saw it, by the wall clock (`CLOCK_REALTIME`), ns.
    pub wall_ns: u64,
    /// Its checksum is left for hardware to fill in (`TP_STATUS_CSUMNOTREADY`).
    pub lacks_checksum: bool,
}

/// Receives the frames of one device.
#[derive(Debug)]
pub struct Receiver {
    socket: OwnedFd,
    ring: Mapping,
    slot_bytes: usize,
    longest_frame_bytes: usize,
    slots: usize,
    next: usize,
    missed: u64,
}

// SAFETY: the mapping belongs to this value alone, whichever thread has it.
unsafe impl Send for Receiver {}

impl Receiver {
    /// Receives from a device of the caller's network namespace; afterwards any thread may use it.
    /// The ring has room for so many frames, rounded up; of each, no more than
    /// `longest_frame_bytes` are shown.
    ///
    /// # Errors
    /// `EPERM` without `CAP_NET_RAW` there, `ENODEV` for a device that is not there, `ENOMEM`.
    pub fn open(
        name: &str,
        seen: Frames,
        frames: usize,
        longest_frame_bytes: usize,
    ) -> io::Result<Self> {
        let device = device(name)?;
        let socket = open()?;
        if seen == Frames::Incoming {
            set(&socket, libc::PACKET_IGNORE_OUTGOING, &1_i32)?;
        }
        set(&socket, libc::PACKET_VERSION, &VERSION)?;
        let slot_bytes = (longest_frame_bytes + BEFORE_FRAME_BYTES).next_power_of_two();
        let block_bytes = slot_bytes.max(BLOCK_BYTES);
        let blocks = (frames * slot_bytes).div_ceil(block_bytes).max(1);
        let ring_bytes = blocks * block_bytes;
        let request = libc::tpacket_req {
            tp_block_size: block_bytes as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: slot_bytes as u32,
            tp_frame_nr: (ring_bytes / slot_bytes) as u32,
        };
        set(&socket, libc::PACKET_RX_RING, &request)?;
        let ring = Mapping::writable(Some(socket.as_fd()), ring_bytes)?;
        let receiver = Self {
            socket,
            ring,
            slot_bytes,
            longest_frame_bytes,
            slots: ring_bytes / slot_bytes,
            next: 0,
            missed: 0,
        };
        // Only now, so that no frame of another device slips in.
        bind(&receiver.socket, device, libc::ETH_P_ALL)?;
        Ok(receiver)
    }

    /// Hands the frames that are there to `each`, oldest first and at most so many; how many.
    pub fn take(&mut self, most: usize, mut each: impl FnMut(Arrival<'_>)) -> usize {
        for taken in 0..most {
            let Some(slot) = self.filled_slot() else {
                return taken;
            };
            each(self.arrival(slot));
            // SAFETY: the status is the header's first field, within the mapping and aligned.
            // The frame is not used any more, so that the kernel may write it anew.
            unsafe { status(slot).store(libc::TP_STATUS_KERNEL, Ordering::Release) };
            self.next = (self.next + 1) % self.slots;
        }
        most
    }

    /// Frames so far that found no room in the ring.
    ///
    /// # Errors
    /// None are known.
    pub fn missed(&mut self) -> io::Result<u64> {
        let nothing = libc::tpacket_stats {
            tp_packets: 0,
            tp_drops: 0,
        };
        let (level, statistics) = (libc::SOL_PACKET, libc::PACKET_STATISTICS);
        let since_last = option(self.socket.as_fd(), level, statistics, nothing)?;
        // The kernel counts from nought again after each question.
        self.missed += u64::from(since_last.tp_drops);
        Ok(self.missed)
    }

    /// The next slot, if the kernel has filled it.
    fn filled_slot(&self) -> Option<NonNull<u8>> {
        // SAFETY: `next` is below the number of slots, all of which lie within the mapping.
        let slot = unsafe { self.ring.start().add(self.next * self.slot_bytes) };
        // SAFETY: as in `take`. Acquire: what the kernel wrote before it is seen after it.
        let status = unsafe { status(slot).load(Ordering::Acquire) };
        (status & libc::TP_STATUS_USER != 0).then_some(slot)
    }

    /// What stands in a slot that the kernel has filled.
    fn arrival(&self, slot: NonNull<u8>) -> Arrival<'_> {
        // SAFETY: a filled slot starts with a header that the kernel does not touch until it has
        // the slot back; slots are aligned to more than headers are.
        let header: &Header = unsafe { slot.cast().as_ref() };
        let start = usize::from(header.tp_mac);
        let room = self.slot_bytes.saturating_sub(start);
        let length = (header.tp_snaplen as usize)
            .min(room)
            .min(self.longest_frame_bytes);
        // SAFETY: `start + length` is at most the slot's length, and the kernel leaves the slot
        // alone for as long as `take` holds it, which is as long as `each` may use the frame.
        let frame = unsafe { std::slice::from_raw_parts(slot.add(start).as_ptr(), length) };
        Arrival {
            frame,
            bytes: header.tp_len,
            wall_ns: u64::from(header.tp_sec) * NS_PER_SECOND + u64::from(header.tp_nsec),
            lacks_checksum: header.tp_status & libc::TP_STATUS_CSUMNOTREADY != 0,
        }
    }
}

/// Readable when there are frames.
impl AsFd for Receiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The word by which the kernel and we hand a slot to one another.
///
/// # Safety
/// `slot` is the start of a slot of a mapped ring, and the result is not used beyond the mapping.
unsafe fn status<'a>(slot: NonNull<u8>) -> &'a AtomicU32 {
    // SAFETY: the status is the first field of the header that each slot starts with.
    unsafe { AtomicU32::from_ptr(slot.cast().as_ptr()) }
}
