//! The wish of whoever started us that we stop: SIGINT, SIGTERM or SIGHUP, noted and not obeyed
//! at once, so that the program can put its things in order.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use crate::bell::{Bell, Rope, handle_unless_ignored};
use crate::clock;

/// The signal that was heard first; 0 for none.
static HEARD: AtomicI32 = AtomicI32::new(0);
static ROPE: Rope = Rope::loose();

const SIGNALS: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];
/// When each of them came first, on the monotonic clock; 0 for not yet.
static CAME_NS: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];
/// What comes again within this time is the same wish: timeout(1) tells its child, and at once its group.
const ONE_WISH_NS: u64 = 300_000_000;

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
    /// Later than a moment after the first it ends the program at once, as if nobody had listened.
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
        let handler: extern "C" fn(libc::c_int) = match again {
            Again::Kills => note_or_end,
            Again::Waits => note,
        };
        for signal in SIGNALS {
            // Without SA_RESTART, what waits is woken and can look.
            handle_unless_ignored(signal, handler, 0)?;
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

/// Only what a signal handler may do: the clock, atomics, the rope, signal(2) and raise(3).
extern "C" fn note_or_end(signal: libc::c_int) {
    let now_ns = clock::monotonic_ns();
    let mut each = SIGNALS.into_iter().zip(&CAME_NS);
    if let Some((_, came)) = each.find(|(of, _)| *of == signal) {
        let first = came.compare_exchange(0, now_ns, Ordering::Relaxed, Ordering::Relaxed);
        if first.is_err_and(|first_ns| now_ns.saturating_sub(first_ns) > ONE_WISH_NS) {
            // SAFETY: both may be called by a handler, and name no handler of ours. What is raised comes as
            // this one returns.
            unsafe {
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
            }
        }
    }
    note(signal);
}
