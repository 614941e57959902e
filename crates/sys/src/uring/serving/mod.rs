//! Completions for a server: one io_uring instance that accepts connections, receives from them
//! into buffers lent to the kernel, and sends bytes that were copied into its own memory.
//!
//! A send never waits: it takes place while it is handed over, within [`ServingRing::enter`], and
//! it is not reported if it sent all of its bytes. So when `enter` returns, the memory that was
//! sent from is free again, and whatever was not sent has been copied out of it.
//!
//! Operations name descriptors by their numbers, and the kernel looks these up when they are handed
//! over. So a descriptor that was passed in must stay open until the next `enter`.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};

use io_uring::squeue::{Entry, Flags};
use io_uring::types::{CancelBuilder, Fd, Napi};
use io_uring::{cqueue, opcode};

use super::buffers::{BUFFER_BYTES, Buffers, GROUP};
use super::completion::what_happened;
use super::lent::{CANCEL_PATIENCE, Lent};
use super::operation::{OperationKind, name, understand};
use super::outgoing::{Message, Outgoing};
use super::setup;
use crate::listener::BusyPoll;

pub use super::completion::{Completion, What};
pub use super::operation::Owner;

/// Operations that may be queued before they are handed to the kernel.
const QUEUE: u32 = 256;
/// Completions that may wait; the kernel stores further ones until there is room.
const COMPLETIONS: u32 = 4096;
/// Buffers to receive into. More connections than this share them.
const BUFFERS: u16 = 1024;

/// A message that was not sent, or only in part.
#[derive(Debug)]
pub struct Unsent {
    pub owner: Owner,
    /// The bytes that were not sent, or why none ever will be.
    pub rest: io::Result<Vec<u8>>,
}

/// One io_uring instance and all memory that the kernel uses on its behalf. Only the thread that
/// made it may use it; the type ensures that.
pub struct ServingRing {
    ring: Lent<Buffers>,
    outgoing: Outgoing,
    /// Messages that are queued, by the names of their operations.
    sending: Vec<(u64, Message)>,
    unsent: VecDeque<Unsent>,
    /// Completions that have not been taken yet.
    untaken: VecDeque<cqueue::Entry>,
    /// Accepted connections among them.
    untaken_sockets: usize,
    entered: u64,
}

impl ServingRing {
    /// Makes a ring with nothing under way.
    ///
    /// # Errors
    /// Those that [`super::usable::try_out`] explains; `ENOMEM`.
    pub fn new() -> io::Result<Self> {
        Self::sized(QUEUE, COMPLETIONS, BUFFERS)
    }

    fn sized(queue: u32, completions: u32, buffers: u16) -> io::Result<Self> {
        let ring = setup::builder(completions)
            .setup_taskrun_flag()
            .build(queue)?;
        let buffers = Buffers::register(&ring.submitter(), buffers)?;
        Ok(Self {
            ring: Lent::new(ring, buffers),
            outgoing: Outgoing::new(),
            sending: Vec::with_capacity(queue as usize),
            unsent: VecDeque::new(),
            untaken: VecDeque::with_capacity(completions as usize),
            untaken_sockets: 0,
            entered: 0,
        })
    }

    /// Makes waits poll the network device first, for sockets whose packets come through one
    /// (`IORING_REGISTER_NAPI`, Linux 6.9).
    ///
    /// # Errors
    /// `EINVAL` before Linux 6.9, and on a kernel without busy polling.
    pub fn poll_busily(&mut self, wish: BusyPoll) -> io::Result<()> {
        let mut napi = Napi::new()
            .set_busy_poll_timeout(wish.time_us)
            .set_prefer_busy_poll(wish.preferred_budget.is_some());
        self.ring.submitter().register_napi(&mut napi)
    }

    /// Accepts the next connection of a blocking listener, or with `goes_on` one after the other.
    ///
    /// # Errors
    /// Those of [`Self::enter`]; this also holds for all methods that follow.
    pub fn accept(
        &mut self,
        owner: Owner,
        listener: BorrowedFd<'_>,
        goes_on: bool,
    ) -> io::Result<()> {
        let (listener, flags) = (fd(listener), libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC);
        let nobody = std::ptr::null_mut();
        let accept = match goes_on {
            true => opcode::AcceptMulti::new(listener).flags(flags).build(),
            false => opcode::Accept::new(listener, nobody, nobody.cast())
                .flags(flags)
                .build(),
        };
        self.queue(owner, OperationKind::Accept, accept)
    }

    /// Receives on a connection once, or with `goes_on` until it ends or fails or buffers run out.
    ///
    /// # Errors
    /// See [`Self::accept`].
    pub fn receive(
        &mut self,
        owner: Owner,
        socket: BorrowedFd<'_>,
        goes_on: bool,
    ) -> io::Result<()> {
        let socket = fd(socket);
        let receive = match goes_on {
            true => opcode::RecvMulti::new(socket, GROUP).build(),
            false => opcode::Recv::new(socket, std::ptr::null_mut(), BUFFER_BYTES as u32)
                .buf_group(GROUP)
                .build()
                .flags(Flags::BUFFER_SELECT),
        };
        self.queue(owner, OperationKind::Receive, receive)
    }

    /// Stops receiving. What was received before is still reported, and then the end of the
    /// operation.
    ///
    /// # Errors
    /// See [`Self::accept`].
    pub fn stop_receiving(&mut self, owner: Owner) -> io::Result<()> {
        let cancel = opcode::AsyncCancel::new(name(owner, OperationKind::Receive)).build();
        self.queue(
            owner,
            OperationKind::Cancel,
            cancel.flags(Flags::SKIP_SUCCESS),
        )
    }

    /// Reports each time that a descriptor becomes readable.
    ///
    /// # Errors
    /// See [`Self::accept`].
    pub fn watch(&mut self, owner: Owner, descriptor: BorrowedFd<'_>) -> io::Result<()> {
        let poll = opcode::PollAdd::new(fd(descriptor), libc::POLLIN as u32).multi(true);
        self.queue(owner, OperationKind::Watch, poll.build())
    }

    /// Reports once that there is room to send.
    ///
    /// # Errors
    /// See [`Self::accept`].
    pub fn await_room(&mut self, owner: Owner, socket: BorrowedFd<'_>) -> io::Result<()> {
        let poll = opcode::PollAdd::new(fd(socket), libc::POLLOUT as u32);
        self.queue(owner, OperationKind::Room, poll.build())
    }

    /// Appends to the message that [`Self::send`] will send. Returns how many bytes there was room
    /// for.
    #[inline]
    pub fn append(&mut self, bytes: &[u8]) -> usize {
        self.outgoing.append(bytes)
    }

    /// Sends what was appended, with the next [`Self::enter`]; [`Self::next_unsent`] reports it if
    /// not all was sent. Nothing more may be sent to this owner before that is known.
    ///
    /// # Errors
    /// See [`Self::accept`].
    #[inline]
    pub fn send(&mut self, owner: Owner, socket: BorrowedFd<'_>) -> io::Result<()> {
        if self.ring.submission().is_full() {
            // The message is not finished yet, so its memory is not reused.
            self.enter(false)?;
        }
        let message = self.outgoing.finish();
        if message.is_empty() {
            return Ok(());
        }
        let bytes = self.outgoing.bytes(message);
        let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
        // With MSG_WAITALL a partial send counts as a failure, which is reported
        // (`io_sendrecv_fail` in io_uring/net.c). With MSG_DONTWAIT it is known at once, and
        // nothing is left under way.
        let flags = libc::MSG_NOSIGNAL | libc::MSG_WAITALL | libc::MSG_DONTWAIT;
        let send = opcode::Send::new(fd(socket), bytes.as_ptr(), length).flags(flags);
        let send = send.build().flags(Flags::SKIP_SUCCESS);
        self.queue(owner, OperationKind::Send, send)?;
        self.sending
            .push((name(owner, OperationKind::Send), message));
        Ok(())
    }

    /// Ends the accept operation of an owner before it returns: nothing is accepted afterwards. The
    /// end of the operation is still reported, after the connections that it accepted.
    ///
    /// # Errors
    /// See [`Self::accept`].
    pub fn stop_accepting(&mut self, owner: Owner) -> io::Result<()> {
        self.enter(false)?;
        let accept = CancelBuilder::user_data(name(owner, OperationKind::Accept));
        let cancelled = self
            .ring
            .submitter()
            .register_sync_cancel(Some(CANCEL_PATIENCE), accept);
        self.collect();
        match cancelled {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Hands over the queued operations; with `waits` until something has happened. A signal ends
    /// the wait early.
    ///
    /// # Errors
    /// Those of io_uring_enter(2).
    #[inline]
    pub fn enter(&mut self, waits: bool) -> io::Result<()> {
        let mut wanted = usize::from(waits);
        loop {
            setup::unless_early(self.ring.submitter().submit_and_wait(wanted))?;
            self.entered += 1;
            self.collect();
            let submission = self.ring.submission();
            // Messages of this batch that were not sent must be reported before their memory is
            // reused, even where there was no room in the queue to report them.
            if submission.is_empty() && !submission.cq_overflow() {
                break;
            }
            wanted = 0;
        }
        self.sending.clear();
        self.outgoing.clear();
        Ok(())
    }

    /// How often the queue was handed over. An operation that was queued at another count is no
    /// longer in the queue.
    pub fn entered(&self) -> u64 {
        self.entered
    }

    /// Whether [`Self::next_unsent`] or [`Self::take`] has something.
    #[inline]
    pub fn has_untaken(&self) -> bool {
        !self.untaken.is_empty() || !self.unsent.is_empty()
    }

    /// Whether something is queued, or has happened and was not taken. Some of it may be known to
    /// the kernel only: it processes about 20 completed operations in one [`Self::enter`] and
    /// leaves the others for the next (`IO_LOCAL_TW_DEFAULT_MAX` in io_uring/io_uring.c, Linux
    /// 6.14). Rarely this is true without cause, until something happens.
    pub fn has_more(&mut self) -> bool {
        let submission = self.ring.submission();
        let is_done = submission.is_empty() && !submission.taskrun() && !submission.cq_overflow();
        drop(submission);
        !is_done || self.has_untaken()
    }

    /// Connections that were accepted and have not been taken.
    #[inline]
    pub fn untaken_sockets(&self) -> usize {
        self.untaken_sockets
    }

    /// The next message that was not sent. To be called before [`Self::take`].
    #[inline]
    pub fn next_unsent(&mut self) -> Option<Unsent> {
        self.unsent.pop_front()
    }

    /// Takes the next completion. Gives the bytes received last back to the kernel.
    #[inline]
    pub fn take(&mut self) -> Option<Completion> {
        self.ring.memory.give_back();
        let entry = self.untaken.pop_front()?;
        self.ring.memory.hold(&entry);
        let (owner, kind) = understand(entry.user_data());
        self.untaken_sockets -= usize::from(has_socket(kind, &entry));
        Some(Completion {
            owner,
            what: what_happened(kind, entry.result()),
            goes_on: cqueue::more(entry.flags()),
        })
    }

    /// The bytes of the last completion, if it was [`What::Received`].
    #[inline]
    pub fn received(&self) -> &[u8] {
        self.ring.memory.held()
    }

    fn queue(&mut self, owner: Owner, kind: OperationKind, entry: Entry) -> io::Result<()> {
        let entry = entry.user_data(name(owner, kind));
        loop {
            // SAFETY: the operation uses no memory but the buffers, which `Lent` frees only when
            // all operations have ended, and messages, which are used while they are handed over
            // and neither moved nor changed before that.
            if unsafe { self.ring.submission().push(&entry) }.is_ok() {
                return Ok(());
            }
            self.enter(false)?;
        }
    }

    /// Moves completions out of the kernel's queue, so that it has room for more.
    #[inline]
    fn collect(&mut self) {
        for entry in self.ring.completion() {
            match understand(entry.user_data()) {
                (owner, OperationKind::Send) => {
                    let rest = match find(&self.sending, entry.user_data()) {
                        Some(message) => rest_of(self.outgoing.bytes(message), entry.result()),
                        // How much of it was sent is not known, so nothing may follow it.
                        None => Err(io::Error::other("a message that is not being sent failed")),
                    };
                    self.unsent.push_back(Unsent { owner, rest });
                }
                (_, OperationKind::Cancel) => {}
                (_, kind) => {
                    self.untaken_sockets += usize::from(has_socket(kind, &entry));
                    self.untaken.push_back(entry);
                }
            }
        }
    }
}

impl Drop for ServingRing {
    fn drop(&mut self) {
        // Closes accepted connections that nobody took.
        self.collect();
        while self.take().is_some() {}
    }
}

fn fd(descriptor: BorrowedFd<'_>) -> Fd {
    Fd(descriptor.as_raw_fd())
}

fn has_socket(kind: OperationKind, entry: &cqueue::Entry) -> bool {
    kind == OperationKind::Accept && entry.result() >= 0
}

fn find(sending: &[(u64, Message)], name: u64) -> Option<Message> {
    let found = sending.iter().rev().find(|(queued, _)| *queued == name);
    found.map(|(_, message)| *message)
}

/// The unsent rest of a message, by the result of its send.
fn rest_of(bytes: &[u8], result: i32) -> io::Result<Vec<u8>> {
    match usize::try_from(result) {
        Ok(sent) => Ok(bytes.get(sent..).unwrap_or_default().to_vec()),
        Err(_) if result == -libc::EAGAIN => Ok(bytes.to_vec()),
        Err(_) => Err(io::Error::from_raw_os_error(-result)),
    }
}

#[cfg(test)]
mod tests;
