//! Signals to a running server other than those that end it: to read its certificates again
//! (SIGHUP), and to report its state (SIGUSR1).

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::bell::{Bell, Rope, handle_unless_ignored, set_action};

/// An order to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// SIGHUP.
    Reload,
    /// SIGUSR1.
    Report,
}

/// Whether each order came since it was last taken.
static WANTED: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];
static ROPE: Rope = Rope::loose();

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
pub struct Orders(Bell);

impl Orders {
    /// Listens for these from now on. A signal that whoever started us made us ignore stays
    /// ignored.
    ///
    /// # Errors
    /// `EMFILE` at the limit of open files.
    pub fn listen(orders: &[Order]) -> io::Result<Self> {
        let bell = Bell::hang(&ROPE)?;
        for order in orders {
            handle_unless_ignored(order.signal(), note, libc::SA_RESTART)?;
        }
        Ok(Self(bell))
    }

    /// Silences the descriptor, and returns whether this order came since it was last taken.
    pub fn take(&self, order: Order) -> bool {
        self.0.silence();
        WANTED[order.place()].swap(false, Ordering::SeqCst)
    }
}

/// Readable once an order came that was not taken.
impl AsFd for Orders {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Ignores these signals, for a process whose parent receives the orders.
///
/// # Errors
/// None are known.
pub fn ignore(orders: &[Order]) -> io::Result<()> {
    let mut orders = orders.iter();
    orders.try_for_each(|order| set_action(order.signal(), libc::SIG_IGN, libc::SA_RESTART))
}

/// Does only what a signal handler may: it uses atomics, and the rope.
extern "C" fn note(signal: libc::c_int) {
    let is_report = signal == libc::SIGUSR1;
    WANTED[usize::from(is_report)].store(true, Ordering::SeqCst);
    ROPE.pull();
}
