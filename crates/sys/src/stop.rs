//! The wish of whoever started us that we stop: SIGINT, SIGTERM or SIGHUP, noted and not obeyed
//! at once, so that the program can put its things in order.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicI32, Ordering};

use crate::bell::{Bell, Rope, handle_unless_ignored};

/// The signal that was heard first; 0 for none.
static HEARD: AtomicI32 = AtomicI32::new(0);
static ROPE: Rope = Rope::loose();

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
pub struct StopSignal(Bell);

impl StopSignal {
    /// Listens from now on, until the process ends. A signal that whoever started us lets us
    /// ignore, as `nohup` does, stays ignored.
    ///
    /// # Errors
    /// `EMFILE` at the limit of open files.
    pub fn listen(again: Again) -> io::Result<Self> {
        let bell = Bell::hang(&ROPE)?;
        // Without SA_RESTART, what waits is woken and can look.
        let flags = match again {
            Again::Kills => libc::SA_RESETHAND,
            Again::Waits => 0,
        };
        for signal in SIGNALS {
            handle_unless_ignored(signal, note, flags)?;
        }
        Ok(Self(bell))
    }

    /// Takes note of the signals so far: the descriptor is silent until the next.
    pub fn acknowledge(&self) {
        self.0.silence();
    }
}

/// It is readable once the wish was heard.
impl AsFd for StopSignal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The number of the signal that was heard first, in a process that listens.
pub fn heard() -> Option<i32> {
    Some(HEARD.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
}

/// Has this process hear the wish as by SIGHUP: the line to whoever started us has ended.
pub fn hang_up() {
    note(libc::SIGHUP);
}

/// Only what a signal handler may do: atomics, and the rope.
extern "C" fn note(signal: libc::c_int) {
    let _ = HEARD.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
    ROPE.pull();
}
