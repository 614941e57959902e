//! The request of whoever started us that we stop: SIGINT, SIGTERM or SIGHUP. It is noted and not
//! obeyed at once, so that the program can finish in good order.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use crate::bell::{Bell, Rope, handle_unless_ignored};
use crate::clock;

/// The signal that came first; 0 for none.
static HEARD: AtomicI32 = AtomicI32::new(0);
static ROPE: Rope = Rope::loose();

const SIGNALS: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];
/// When each of [`SIGNALS`] came first, on the monotonic clock; 0 for not yet.
static CAME_NS: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];
/// A signal that comes again within this time is the same request: timeout(1) signals its child,
/// and at once its whole group.
const ONE_WISH_NS: u64 = 300_000_000;

/// Stops ignoring these signals and SIGQUIT where that was inherited, for this process and for
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
    /// Ends the program at once, as if nobody had listened, unless it comes within a moment of the
    /// first.
    Kills,
    /// Nothing: for a child whose parent passes on a signal that the terminal has already sent to
    /// the child.
    Waits,
}

/// A descriptor that becomes readable when this process is asked to stop.
#[derive(Debug)]
pub struct StopSignal(Bell);

impl StopSignal {
    /// Listens from now on, until the process ends. A signal that we inherited as ignored, as from
    /// `nohup`, stays ignored.
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
            // Without SA_RESTART, a system call that waits is interrupted, and its caller can look.
            handle_unless_ignored(signal, handler, 0)?;
        }
        Ok(Self(bell))
    }

    /// Acknowledges the signals so far: the descriptor is not readable until the next one.
    pub fn acknowledge(&self) {
        self.0.silence();
    }
}

/// Readable once a request to stop has come.
impl AsFd for StopSignal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The number of the signal that came first, in a process that listens.
pub fn heard() -> Option<i32> {
    Some(HEARD.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
}

/// Has this process act as if SIGHUP had come: the connection to whoever started us has ended.
pub fn hang_up() {
    note(libc::SIGHUP);
}

/// Notes a signal. It does only what a signal handler may do: atomics, and the rope.
extern "C" fn note(signal: libc::c_int) {
    let _ = HEARD.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
    ROPE.pull();
}

/// Notes a signal, or ends the program when it comes again. It does only what a signal handler may
/// do: the clock, atomics, the rope, signal(2) and raise(3).
extern "C" fn note_or_end(signal: libc::c_int) {
    let now_ns = clock::monotonic_ns();
    let mut each = SIGNALS.into_iter().zip(&CAME_NS);
    if let Some((_, came)) = each.find(|(of, _)| *of == signal) {
        let first = came.compare_exchange(0, now_ns, Ordering::Relaxed, Ordering::Relaxed);
        if first.is_err_and(|first_ns| now_ns.saturating_sub(first_ns) > ONE_WISH_NS) {
            // SAFETY: both may be called by a handler, and name no handler of ours. The raised
            // signal is delivered when this handler returns.
            unsafe {
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
            }
        }
    }
    note(signal);
}
