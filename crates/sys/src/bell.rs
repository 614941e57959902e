//! A descriptor that becomes readable with a signal, and the setting of signal handlers.

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::event::{EventfdFlags, eventfd};

use crate::check;

/// The descriptor number of a bell, for the signal handler that rings it; −1 for none.
#[derive(Debug)]
pub(crate) struct Rope(AtomicI32);

impl Rope {
    pub(crate) const fn loose() -> Self {
        Self(AtomicI32::new(-1))
    }

    /// Rings the bell. It does only what a signal handler may: write(2) to a descriptor that is
    /// open or −1.
    pub(crate) fn pull(&self) {
        let (bell, one) = (self.0.load(Ordering::SeqCst), 1_u64.to_ne_bytes());
        // SAFETY: `one` is readable for its length. An error needs no handling: the bell rang
        // before, or there is none.
        let _ = unsafe { libc::write(bell, one.as_ptr().cast(), one.len()) };
    }
}

/// An event descriptor, readable once its rope was pulled.
#[derive(Debug)]
pub(crate) struct Bell {
    file: OwnedFd,
    rope: &'static Rope,
}

impl Bell {
    /// Makes a bell that this rope rings.
    ///
    /// # Errors
    /// `EMFILE` at the limit of open files.
    pub(crate) fn hang(rope: &'static Rope) -> io::Result<Self> {
        let file = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        rope.0.store(file.as_raw_fd(), Ordering::SeqCst);
        Ok(Self { file, rope })
    }

    /// Makes the bell unreadable until it is rung again.
    pub(crate) fn silence(&self) {
        // It does not wait; it does not matter if there was nothing to read.
        let _ = rustix::io::read(&self.file, &mut [0_u8; 8][..]);
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        self.rope.0.store(-1, Ordering::SeqCst);
    }
}

/// Has a signal handled by a function that does only what a signal handler may. If whoever started
/// us made us ignore the signal, it stays ignored.
///
/// # Errors
/// None are known.
pub(crate) fn handle_unless_ignored(
    signal: libc::c_int,
    handler: extern "C" fn(libc::c_int),
    flags: libc::c_int,
) -> io::Result<()> {
    // SAFETY: an all-zero sigaction is valid and is overwritten.
    let mut now: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: nothing is set; `now` is writable.
    check(unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut now) })?;
    match now.sa_sigaction {
        libc::SIG_IGN => Ok(()),
        _ => set_action(signal, handler as libc::sighandler_t, flags),
    }
}

/// Sets the action of a signal. The handler must be no function, or one that does only what a
/// signal handler may.
pub(crate) fn set_action(
    signal: libc::c_int,
    handler: libc::sighandler_t,
    flags: libc::c_int,
) -> io::Result<()> {
    // SAFETY: an all-zero sigaction is valid: no flags, no signals blocked while it runs.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler;
    action.sa_flags = flags;
    // SAFETY: `action` is valid; the caller vouches for its handler.
    check(unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) })?;
    Ok(())
}
