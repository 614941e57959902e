//! Sends without a copy (`MSG_ZEROCOPY`): the kernel reads our memory while it sends, and tells later
//! what came of that.
//!
//! Until it has told, the memory must stay as it is; of a connection that was closed meanwhile it
//! never tells, and goes on sending. So only pages of files are taken, which are the kernel's
//! ([`crate::mapped_file`]).
//! Documentation/networking/msg_zerocopy.rst.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};

use crate::check_size;
use crate::socket::or_later;

/// `SO_EE_ORIGIN_ZEROCOPY` and `SO_EE_CODE_ZEROCOPY_COPIED` of linux/errqueue.h.
const ORIGIN: u8 = 5;
const COPIED: u8 = 1;
/// Room for a report and the address behind it, aligned as the kernel wants it.
type Control = [u64; 16];

/// What became of sends without a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZeroCopyTally {
    /// Sends that the kernel took, of which it tells later.
    pub sends: u64,
    /// Of these it told that it copied all the same, as it does for what stays on the machine.
    pub copied: u64,
    /// Of these it told that it did not.
    pub uncopied: u64,
    /// Sends beside those that were copied at once: the kernel lacked memory for its account of them
    /// (`net.core.optmem_max`), or the user may not have so much of his held (`RLIMIT_MEMLOCK`).
    pub declined: u64,
}

impl ZeroCopyTally {
    /// Sends of which nothing was told: they are under way, or their connections were closed first.
    #[must_use]
    pub fn untold(&self) -> u64 {
        self.sends.saturating_sub(self.copied + self.uncopied)
    }

    fn tell(&mut self, sends: u64, is_copied: bool) {
        match is_copied {
            true => self.copied += sends,
            false => self.uncopied += sends,
        }
    }
}

/// Sends as much as there is room for by a function of the flags, and again without this one where the kernel
/// would keep no account. The socket must have been allowed to ([`crate::listener::allow_zero_copy`]), or it copies.
pub(crate) fn send_by(
    tally: &mut ZeroCopyTally,
    send: impl Fn(libc::c_int) -> io::Result<Option<usize>>,
) -> io::Result<Option<usize>> {
    let (outcome, count) = match send(libc::MSG_NOSIGNAL | libc::MSG_ZEROCOPY) {
        Err(error) if is_declined(&error) => (send(libc::MSG_NOSIGNAL), &mut tally.declined),
        outcome => (outcome, &mut tally.sends),
    };
    *count += u64::from(matches!(outcome, Ok(Some(_))));
    outcome
}

/// Whether an error says that only this way of sending cannot be had now.
fn is_declined(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOBUFS | libc::ENOMEM))
}

/// Takes all that the kernel has told of a connection, and says whether that was anything. What comes
/// later is an event of the connection's error queue (`EPOLLERR`), and no error.
pub fn reap(socket: BorrowedFd<'_>, tally: &mut ZeroCopyTally) -> bool {
    let mut is_told = false;
    while let Ok(Some((sends, is_copied))) = next_report(socket) {
        tally.tell(sends, is_copied);
        is_told = true;
    }
    is_told
}

/// How many sends the next report is about, and whether they were copied; `None` when there is none.
fn next_report(socket: BorrowedFd<'_>) -> io::Result<Option<(u64, bool)>> {
    let mut control = Control::default();
    // SAFETY: an all-zero msghdr is valid: numbers, and pointers that may be null.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of::<Control>();
    // SAFETY: the message points to the control bytes alone, which are writable for the length beside
    // them; both outlive the call.
    let received = check_size(unsafe {
        libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_ERRQUEUE)
    });
    if or_later(received)?.is_none() {
        return Ok(None);
    }
    // SAFETY: the kernel has set the length of what it wrote into the control bytes, and a header that
    // is found there is whole.
    let header = unsafe { libc::CMSG_FIRSTHDR(&raw const message).as_ref() };
    let told = header.filter(|header| {
        let place = (header.cmsg_level, header.cmsg_type);
        [
            (libc::SOL_IP, libc::IP_RECVERR),
            (libc::SOL_IPV6, libc::IPV6_RECVERR),
        ]
        .contains(&place)
    });
    // SAFETY: behind a header of these kinds is a `sock_extended_err`; it is copied, however it lies.
    let told = told.map(|header| unsafe {
        libc::CMSG_DATA(header)
            .cast::<libc::sock_extended_err>()
            .read_unaligned()
    });
    // Sends are numbered from zero, and told of from one number to another.
    let about = |told: libc::sock_extended_err| {
        let sends = u64::from(told.ee_data.wrapping_sub(told.ee_info)) + 1;
        (sends, told.ee_code & COPIED != 0)
    };
    let told = told.filter(|told| told.ee_errno == 0 && told.ee_origin == ORIGIN);
    Ok(Some(told.map_or((0, false), about)))
}
