//! Frames received at a device, from a ring of memory that the kernel writes into
//! (`PACKET_RX_RING`, packet(7) and the kernel's packet_mmap.rst). It takes no system call per
//! frame, and gives the time at which the kernel saw each frame.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::time::Duration;

use libc::tpacket2_hdr as Header;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::ring::Ring;
use super::{bind, device, open, set};
use crate::socket::option;

/// The most bytes before each frame: the header, a socket address and alignment.
const BEFORE_FRAME_BYTES: usize = 128;
const NS_PER_SECOND: u64 = 1_000_000_000;

/// Which frames of a device a receiver sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frames {
    /// Those that the device receives, not those that it sends (`PACKET_IGNORE_OUTGOING`, Linux
    /// 4.20).
    Incoming,
    /// Those in both directions.
    All,
}

/// A frame in the ring.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// The frame from its Ethernet header on, up to the receiver's longest.
    pub frame: &'a [u8],
    /// Length of the whole frame, of which `frame` may be a part.
    pub bytes: u32,
    /// When the kernel saw it, by the wall clock (`CLOCK_REALTIME`), ns.
    pub wall_ns: u64,
    /// Whether its checksum is left for hardware to fill in (`TP_STATUS_CSUMNOTREADY`).
    pub lacks_checksum: bool,
}

/// Receives the frames of one device.
#[derive(Debug)]
pub struct Receiver {
    socket: OwnedFd,
    ring: Ring,
    longest_frame_bytes: usize,
    missed: u64,
}

impl Receiver {
    /// Receives from a device of the caller's network namespace; afterwards any thread may use it.
    /// The ring has room for so many frames, rounded up; at most `longest_frame_bytes` of each are
    /// shown.
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
        let room_bytes = longest_frame_bytes + BEFORE_FRAME_BYTES;
        let receiver = Self {
            ring: Ring::open(&socket, libc::PACKET_RX_RING, frames, room_bytes)?,
            socket,
            longest_frame_bytes,
            missed: 0,
        };
        // It is bound only now, so that no frame of another device slips in.
        bind(&receiver.socket, device, libc::ETH_P_ALL)?;
        Ok(receiver)
    }

    /// Passes the frames that are there to `each`, oldest first, at most `most`; returns how many.
    pub fn take(&mut self, most: usize, mut each: impl FnMut(Arrival<'_>)) -> usize {
        for taken in 0..most {
            // Acquire: what the kernel wrote before the status is seen after it.
            let status = self.ring.status().load(Ordering::Acquire);
            if status & libc::TP_STATUS_USER == 0 {
                return taken;
            }
            each(self.arrival());
            // The frame is no longer in use, so that the kernel may overwrite it.
            let status = self.ring.status();
            status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.ring.advance();
        }
        most
    }

    /// Number of frames so far that found no room in the ring.
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
        // The kernel counts from 0 again after each question.
        self.missed += u64::from(since_last.tp_drops);
        Ok(self.missed)
    }

    /// Waits until there are frames, for the time `most` at most; returns whether there are.
    ///
    /// # Errors
    /// `EINTR` when a signal came first.
    pub fn wait(&self, most: Duration) -> io::Result<bool> {
        let mut polled = [PollFd::new(&self.socket, PollFlags::IN)];
        let most = Timespec::try_from(most).map_err(io::Error::other)?;
        Ok(poll(&mut polled, Some(&most))? > 0)
    }

    /// The frame in the next slot, which the kernel has filled.
    fn arrival(&self) -> Arrival<'_> {
        let slot = self.ring.slot();
        // SAFETY: a filled slot starts with a header that the kernel does not touch until it has
        // the slot back; slots are aligned to more than headers are.
        let header: &Header = unsafe { slot.cast().as_ref() };
        let start = usize::from(header.tp_mac);
        let room = self.ring.slot_bytes().saturating_sub(start);
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
