//! Memory that a packet socket and the kernel share, in slots that they hand to one another (packet(7)
//! and the kernel's packet_mmap.rst).

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;

use super::set;
use crate::mapping::Mapping;

/// `TPACKET_V2`: each frame is available as soon as it arrived, while version 3 waits for a block
/// of them.
const VERSION: libc::c_int = 1;
/// Size of a block. It is physically contiguous memory, and a small block is available on any
/// machine.
const BLOCK_BYTES: usize = 64 * 1024;

#[derive(Debug)]
pub(super) struct Ring {
    memory: Mapping,
    slot_bytes: usize,
    slots: usize,
    next: usize,
}

// SAFETY: the mapping belongs to this value alone, whichever thread has it.
unsafe impl Send for Ring {}

impl Ring {
    /// Gives a socket a ring of at least `slots` slots, each with room for `room_bytes`.
    pub(super) fn open(
        socket: &OwnedFd,
        option: libc::c_int,
        slots: usize,
        room_bytes: usize,
    ) -> io::Result<Self> {
        set(socket, libc::PACKET_VERSION, &VERSION)?;
        let slot_bytes = room_bytes.next_power_of_two();
        let block_bytes = slot_bytes.max(BLOCK_BYTES);
        let blocks = (slots * slot_bytes).div_ceil(block_bytes).max(1);
        let bytes = blocks * block_bytes;
        let request = libc::tpacket_req {
            tp_block_size: block_bytes as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: slot_bytes as u32,
            tp_frame_nr: (bytes / slot_bytes) as u32,
        };
        set(socket, option, &request)?;
        Ok(Self {
            memory: Mapping::writable(Some(socket.as_fd()), bytes)?,
            slot_bytes,
            slots: bytes / slot_bytes,
            next: 0,
        })
    }

    pub(super) fn slot_bytes(&self) -> usize {
        self.slot_bytes
    }

    /// The next slot; its status says who owns it.
    pub(super) fn slot(&self) -> NonNull<u8> {
        // SAFETY: `next` is below the number of slots, all of which lie within the mapping.
        unsafe { self.memory.start().add(self.next * self.slot_bytes) }
    }

    /// The status word by which the kernel and we hand the next slot to one another.
    pub(super) fn status(&self) -> &AtomicU32 {
        // SAFETY: the status is the first field of the header that each slot starts with, aligned and
        // within the mapping, which lives as long as the result.
        unsafe { AtomicU32::from_ptr(self.slot().cast().as_ptr()) }
    }

    pub(super) fn advance(&mut self) {
        self.next = (self.next + 1) % self.slots;
    }
}
