//! The wish of whoever started us that we stop: SIGINT, SIGTERM or SIGHUP, noted and not obeyed
//! at once, so that the program can put its things in order.

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::sync::atomic::{AtomicI32, Ordering};

use crate::check;

/// The signal that was heard first; 0 for none.
static HEARD: AtomicI32 = AtomicI32::new(0);
/// The descriptor that becomes readable with it; −1 for none.
static BELL: AtomicI32 = AtomicI32::new(-1);

const SIGNALS: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// Ends the ignoring of these signals and of SIGQUIT that was inherited, for this process and for
/// those that it starts from now on. A shell starts what it puts into the background with SIGINT
/// and SIGQUIT ignored (POSIX.1, XCU §2.11), and `nohup` with SIGHUP.
pub fn ignore_none() {
    for signal in SIGNALS.into_iter().chain([libc::SIGQUIT]) {
        // SAFETY: no handler of ours is named.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// What the same signal does when it comes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// It ends the program at once, as if nobody had listened.
    Kills,
    /// Nothing: for a child whose parent passes on what the terminal told the child already.
    Waits,
}

/// The descriptor of a process that listens for the wish.
#[derive(Debug)]
pub struct StopSignal {
    bell: OwnedFd,
}

impl StopSignal {
    /// Listens from now on, until the process ends. A signal that whoever started us lets us
    /// ignore, as `nohup` does, stays ignored.
    ///
    /// # Errors
    /// `EMFILE` at the limit of open files.
    pub fn listen(again: Again) -> io::Result<Self> {
        // SAFETY: no pointers.
        let bell = check(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
        // SAFETY: `bell` was just opened and nobody else owns it.
        let bell = unsafe { OwnedFd::from_raw_fd(bell) };
        BELL.store(bell.as_raw_fd(), Ordering::SeqCst);
        for signal in SIGNALS {
            if !is_ignored(signal)? {
                handle(signal, again)?;
            }
        }
        Ok(Self { bell })
    }

    /// Takes note of the signals so far: the descriptor is silent until the next.
    pub fn acknowledge(&self) {
        let mut count = [0_u8; 8];
        // SAFETY: the buffer is writable for its length. The descriptor does not block; that there
        // was nothing to read is as good.
        let _ = unsafe {
            libc::read(
                self.bell.as_raw_fd(),
                count.as_mut_ptr().cast(),
                count.len(),
            )
        };
    }
}

/// It is readable once the wish was heard.
impl AsFd for StopSignal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

impl Drop for StopSignal {
    fn drop(&mut self) {
        BELL.store(-1, Ordering::SeqCst);
    }
}

/// The number of the signal that was heard first, in a process that listens.
#[must_use]
pub fn heard() -> Option<i32> {
    Some(HEARD.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
}

/// Only what a signal handler may do: atomics, and write(2) to a descriptor that is open or −1.
extern "C" fn note(signal: libc::c_int) {
    let _ = HEARD.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
    let one = 1_u64.to_ne_bytes();
    // SAFETY: `one` is readable for its length. An error is nobody's to see: the bell rang before.
    let _ = unsafe { libc::write(BELL.load(Ordering::SeqCst), one.as_ptr().cast(), one.len()) };
}

fn handle(signal: libc::c_int, again: Again) -> io::Result<()> {
    let handler: extern "C" fn(libc::c_int) = note;
    // SAFETY: an all-zero sigaction is valid: no flags, no signals blocked meanwhile.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as libc::sighandler_t;
    // Without SA_RESTART, what waits is woken and can look.
    action.sa_flags = match again {
        Again::Kills => libc::SA_RESETHAND,
        Again::Waits => 0,
    };
    // SAFETY: `action` is valid, and its handler does only what a signal handler may.
    check(unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) })?;
    Ok(())
}

pub(crate) fn is_ignored(signal: libc::c_int) -> io::Result<bool> {
    // SAFETY: an all-zero sigaction is valid and is overwritten.
    let mut now: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: nothing is set; `now` is writable.
    check(unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut now) })?;
    Ok(now.sa_sigaction == libc::SIG_IGN)
}
