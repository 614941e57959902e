//! What a server that runs is told by signals beside its end: to read its certificates again (SIGHUP), and to
//! say how it does (SIGUSR1).

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use crate::check;

/// What is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// SIGHUP.
    Reload,
    /// SIGUSR1.
    Report,
}

/// Whether each was wanted since it was last asked for.
static WANTED: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];
/// The descriptor that becomes readable then; −1 for none.
static BELL: AtomicI32 = AtomicI32::new(-1);

impl Order {
    fn signal(self) -> libc::c_int {
        match self {
            Self::Reload => libc::SIGHUP,
            Self::Report => libc::SIGUSR1,
        }
    }

    fn place(self) -> usize {
        usize::from(self == Self::Report)
    }
}

/// The descriptor of a process that listens for orders.
#[derive(Debug)]
pub struct Orders {
    bell: OwnedFd,
}

impl Orders {
    /// Listens for these from now on. A signal that whoever started us lets us ignore stays ignored.
    ///
    /// # Errors
    /// `EMFILE` at the limit of open files.
    pub fn listen(orders: &[Order]) -> io::Result<Self> {
        // SAFETY: no pointers.
        let bell = check(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
        // SAFETY: `bell` was just opened and nobody else owns it.
        let bell = unsafe { OwnedFd::from_raw_fd(bell) };
        BELL.store(bell.as_raw_fd(), Ordering::SeqCst);
        let handler: extern "C" fn(libc::c_int) = note;
        for order in orders {
            if !crate::stop::is_ignored(order.signal())? {
                set_action(order.signal(), handler as libc::sighandler_t)?;
            }
        }
        Ok(Self { bell })
    }

    /// Takes note of the orders so far, and tells whether this one was among them.
    #[must_use]
    pub fn take(&self, order: Order) -> bool {
        let mut count = [0_u8; 8];
        // SAFETY: the buffer is writable for its length. The descriptor does not block; that there
        // was nothing to read is as good.
        let _ = unsafe {
            let room = count.as_mut_ptr().cast();
            libc::read(self.bell.as_raw_fd(), room, count.len())
        };
        WANTED[order.place()].swap(false, Ordering::SeqCst)
    }
}

/// It is readable once an order came that was not taken.
impl AsFd for Orders {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

impl Drop for Orders {
    fn drop(&mut self) {
        BELL.store(-1, Ordering::SeqCst);
    }
}

/// Lets these signals pass without effect, for a process to whose parent they are told.
///
/// # Errors
/// None are known.
pub fn ignore(orders: &[Order]) -> io::Result<()> {
    let mut orders = orders.iter();
    orders.try_for_each(|order| set_action(order.signal(), libc::SIG_IGN))
}

/// Only what a signal handler may do: atomics, and write(2) to a descriptor that is open or −1.
extern "C" fn note(signal: libc::c_int) {
    let is_report = signal == libc::SIGUSR1;
    WANTED[usize::from(is_report)].store(true, Ordering::SeqCst);
    let one = 1_u64.to_ne_bytes();
    // SAFETY: `one` is readable for its length. An error is nobody's to see: the bell rang before.
    let _ = unsafe { libc::write(BELL.load(Ordering::SeqCst), one.as_ptr().cast(), one.len()) };
}

fn set_action(signal: libc::c_int, handler: libc::sighandler_t) -> io::Result<()> {
    // SAFETY: an all-zero sigaction is valid: no flags, no signals blocked meanwhile.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: `action` is valid; its handler is none, or does only what a signal handler may.
    check(unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) })?;
    Ok(())
}
