//! Completions: one io_uring instance for TCP connections that send one message again and again
//! and receive whatever comes.
//!
//! The kernel reads and writes memory while an operation is under way. All of that memory belongs
//! to the [`Ring`]: the message never changes, and what is received lies in buffers that the
//! kernel gets back only when the next completion is asked for. So no caller can free or change
//! anything under the kernel's hands.
#![expect(
    clippy::cast_possible_truncation,
    reason = "slots are 32 bits of an operation's name, and what the kernel limits is clamped"
)]

mod buffers;
mod completion;
mod lent;
mod operation;
mod outgoing;
pub mod serving;
mod setup;
pub mod usable;

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};

use io_uring::squeue::{Entry, Flags};
use io_uring::types::{CancelBuilder, Fixed, SubmitArgs, Timespec};
use io_uring::{cqueue, opcode};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use buffers::{Buffers, GROUP};
use lent::{CANCEL_PATIENCE, Lent};
use operation::{OperationKind, Owner, name, understand};

/// A message up to this length fits into an empty socket at once, so only its failure is reported.
const SMALL_MESSAGE_BYTES: usize = 4096;
/// Buffers to receive into; more connections than this share them.
const BUFFERS_MAX: usize = 1024;
const BUFFERS_MIN: usize = 16;

/// Something that happened to the connection in a slot.
#[derive(Debug)]
pub struct Completion {
    pub slot: usize,
    pub what: What,
}

/// What happened.
#[derive(Debug)]
pub enum What {
    /// The attempt to connect ended, well or not.
    Connected,
    /// The whole of a long message has left. A short one is reported only if it fails.
    Sent,
    /// The message, or the rest of it, will not leave.
    SendFailed,
    /// Bytes came: [`Ring::received`] has them until the next completion is taken. With
    /// `more_waits` the socket held more when they were read, or the peer has closed.
    Received { more_waits: bool },
    /// The peer has closed: no bytes will come.
    End,
    /// Nothing can be received any more.
    ReceiveFailed(io::Error),
}

/// How long to wait, and for how many completions.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    pub timeout_ns: u64,
    /// Completions to wait for; kernels before 6.12 return after the first.
    pub completions: u32,
    /// After this time fewer completions are enough; at most the timeout.
    pub batch_us: u32,
}

/// One io_uring instance, its connections by slot, and all memory that the kernel uses on their
/// behalf. Only the thread that made it may use it; the type ensures that.
pub struct Ring {
    ring: Lent<RingMemory>,
    slots: Vec<RingSlot>,
    /// Completions of the last wait that have not been taken yet.
    untaken: usize,
    queued: usize,
    waits_for_many: bool,
}

struct RingMemory {
    buffers: Buffers,
    message: Box<[u8]>,
}

#[derive(Clone, Copy, Debug, Default)]
struct RingSlot {
    /// Distinguishes an operation on this connection from one on an earlier connection in the slot.
    generation: u32,
    is_used: bool,
}

impl Ring {
    /// Makes a ring with `slots` empty slots, whose connections all send `message`.
    ///
    /// # Errors
    /// `ENOSYS` or `EPERM` where io_uring is switched off (`kernel.io_uring_disabled`) or a system
    /// call filter forbids it; `EINVAL` before Linux 6.1.
    pub fn new(message: &[u8], slots: usize) -> io::Result<Self> {
        let entries = slots.saturating_mul(2).next_power_of_two().clamp(16, 4096) as u32;
        let ring = setup::builder(entries * 2).build(entries)?;
        ring.submitter()
            .register_files_sparse(slots.max(1) as u32)?;
        let count = slots.clamp(BUFFERS_MIN, BUFFERS_MAX) as u16;
        let buffers = Buffers::register(&ring.submitter(), count)?;
        let waits_for_many = ring.params().is_feature_min_timeout();
        let message = message.into();
        let memory = RingMemory { buffers, message };
        Ok(Self {
            ring: Lent::new(ring, memory),
            slots: vec![RingSlot::default(); slots],
            untaken: 0,
            queued: 0,
            waits_for_many,
        })
    }

    /// Puts a connecting socket into an empty slot; [`What::Connected`] reports when the attempt
    /// has ended. The socket is made blocking, because the ring waits only for blocking sockets.
    ///
    /// # Errors
    /// Those of fcntl(2) and io_uring_register(2).
    pub fn watch_connecting(&mut self, slot: usize, socket: BorrowedFd<'_>) -> io::Result<()> {
        self.let_go(slot);
        set_blocking(socket)?;
        self.ring
            .submitter()
            .register_files_update(slot as u32, &[socket.as_raw_fd()])?;
        self.slots[slot].is_used = true;
        let poll = opcode::PollAdd::new(Fixed(slot as u32), libc::POLLOUT as u32).build();
        self.queue(slot, OperationKind::Room, poll)
    }

    /// Receives on a connection from now on, until it ends or fails.
    ///
    /// # Errors
    /// Those of io_uring_enter(2).
    pub fn start_receiving(&mut self, slot: usize) -> io::Result<()> {
        let receive = opcode::RecvMulti::new(Fixed(slot as u32), GROUP).build();
        self.queue(slot, OperationKind::Receive, receive)
    }

    /// Queues the message; it is sent with the next wait at the latest. Returns true when success
    /// can be taken for granted; otherwise [`What::Sent`] reports it. At most one message may be
    /// under way on a connection.
    ///
    /// # Errors
    /// Those of io_uring_enter(2).
    #[inline]
    pub fn send(&mut self, slot: usize) -> io::Result<bool> {
        let message = &self.ring.memory.message;
        let is_small = message.len() <= SMALL_MESSAGE_BYTES;
        let length = u32::try_from(message.len()).map_err(io::Error::other)?;
        // Without MSG_WAITALL a long message would end where the socket's buffer does.
        let mut send = opcode::Send::new(Fixed(slot as u32), message.as_ptr(), length)
            .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL)
            .build();
        if is_small {
            send = send.flags(Flags::SKIP_SUCCESS);
        }
        self.queue(slot, OperationKind::Send, send)?;
        Ok(is_small)
    }

    /// Operations that have not been handed to the kernel yet.
    #[inline]
    pub fn queued(&self) -> usize {
        self.queued
    }

    /// Hands the queued operations to the kernel, without waiting.
    ///
    /// # Errors
    /// Those of io_uring_enter(2).
    pub fn submit(&mut self) -> io::Result<()> {
        let outcome = self.ring.submit();
        self.count_queued();
        setup::unless_early(outcome)
    }

    /// Hands the queued operations to the kernel and waits. A signal ends the wait early.
    ///
    /// # Errors
    /// Those of io_uring_enter(2).
    #[inline]
    pub fn wait(&mut self, patience: Patience) -> io::Result<()> {
        let timeout = timespec(patience.timeout_ns);
        let mut arguments = SubmitArgs::new().timespec(&timeout);
        let mut wanted = 1;
        let batch_ns = u64::from(patience.batch_us) * 1000;
        if self.waits_for_many && patience.completions > 1 && batch_ns < patience.timeout_ns {
            arguments = arguments.min_wait_usec(patience.batch_us);
            wanted = patience.completions as usize;
        }
        let outcome = self.ring.submitter().submit_with_args(wanted, &arguments);
        self.count_queued();
        self.untaken = self.ring.completion().len();
        setup::unless_early(outcome)
    }

    /// Completions of the last wait that have not been taken yet.
    #[inline]
    pub fn untaken(&self) -> usize {
        self.untaken
    }

    /// Takes the next completion of the last wait. Gives the bytes received last back to the
    /// kernel.
    #[inline]
    pub fn take(&mut self) -> Option<Completion> {
        loop {
            self.ring.memory.buffers.give_back();
            self.untaken = self.untaken.checked_sub(1)?;
            let entry = self.ring.completion().next()?;
            if let Some(completion) = self.understand(&entry) {
                return Some(completion);
            }
        }
    }

    /// The bytes of the last completion, if it was [`What::Received`].
    #[inline]
    pub fn received(&self) -> &[u8] {
        self.ring.memory.buffers.held()
    }

    /// Ends everything that is under way in a slot and empties it; nothing more is reported of its
    /// connection. The caller still has the socket, to close it.
    pub fn let_go(&mut self, slot: usize) {
        if !std::mem::take(&mut self.slots[slot].is_used) {
            return;
        }
        self.slots[slot].generation = self.slots[slot].generation.wrapping_add(1);
        // Otherwise queued operations would act on the next connection in this slot.
        let _ = self.submit();
        let all = CancelBuilder::fd(Fixed(slot as u32)).all();
        // An error is harmless: there was nothing to cancel, or the operation uses only our own
        // memory.
        let submitter = self.ring.submitter();
        let _ = submitter.register_sync_cancel(Some(CANCEL_PATIENCE), all);
        let _ = submitter.register_files_update(slot as u32, &[-1]);
    }

    fn queue(&mut self, slot: usize, kind: OperationKind, entry: Entry) -> io::Result<()> {
        let owner = Owner::new(slot as u32, self.slots[slot].generation);
        let entry = entry.user_data(name(owner, kind));
        loop {
            // SAFETY: the operation uses no memory but the message and the buffers. Both live in
            // this ring, neither is changed while the kernel may use it, and `Lent` frees them
            // only when all operations have ended.
            if unsafe { self.ring.submission().push(&entry) }.is_ok() {
                self.queued += 1;
                return Ok(());
            }
            self.submit()?;
        }
    }

    fn count_queued(&mut self) {
        self.queued = self.ring.submission().len();
    }

    /// Interprets a completion. `None` for one that concerns nobody: an operation on a connection
    /// that was let go, one that has to be started again, or a second end of an operation whose end
    /// was already reported.
    #[inline]
    fn understand(&mut self, entry: &cqueue::Entry) -> Option<Completion> {
        let (result, flags) = (entry.result(), entry.flags());
        self.ring.memory.buffers.hold(entry);
        let (owner, kind) = understand(entry.user_data());
        let slot = owner.slot as usize;
        let current = Owner::new(owner.slot, self.slots.get(slot)?.generation);
        if owner != current || !self.slots[slot].is_used {
            return None;
        }
        let what = match kind {
            OperationKind::Room => What::Connected,
            OperationKind::Send
                if usize::try_from(result) == Ok(self.ring.memory.message.len()) =>
            {
                What::Sent
            }
            OperationKind::Send => What::SendFailed,
            OperationKind::Receive => self.understand_receive(slot, result, flags)?,
            // The other kinds are used by servers only.
            _ => return None,
        };
        Some(Completion { slot, what })
    }

    #[inline]
    fn understand_receive(&mut self, slot: usize, result: i32, flags: u32) -> Option<What> {
        let is_out_of_buffers = result == -libc::ENOBUFS;
        // The kernel stops a multishot operation when it has no buffer, or no room for its
        // completions.
        if (is_out_of_buffers || result > 0)
            && !cqueue::more(flags)
            && let Err(error) = self.start_receiving(slot)
        {
            return Some(What::ReceiveFailed(error));
        }
        match result {
            1.. => Some(What::Received {
                more_waits: cqueue::sock_nonempty(flags),
            }),
            0 => Some(What::End),
            _ if is_out_of_buffers => None,
            _ => Some(What::ReceiveFailed(io::Error::from_raw_os_error(-result))),
        }
    }
}

fn timespec(duration_ns: u64) -> Timespec {
    Timespec::new()
        .sec(duration_ns / 1_000_000_000)
        .nsec((duration_ns % 1_000_000_000) as u32)
}

fn set_blocking(socket: BorrowedFd<'_>) -> io::Result<()> {
    let flags = fcntl_getfl(socket)?;
    fcntl_setfl(socket, flags - OFlags::NONBLOCK)?;
    Ok(())
}
