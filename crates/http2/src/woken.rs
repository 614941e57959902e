//! Which streams have news: h2 wakes a number, and the caller asks which numbers were woken.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

/// The numbers that were woken, in that order; repeats in a row are stored once.
#[derive(Debug, Default)]
pub struct Woken(Arc<Mutex<VecDeque<usize>>>);

impl Woken {
    /// Makes a waker that wakes `number`.
    pub fn waker(&self, number: usize) -> Waker {
        Waker::from(Arc::new(Bell {
            number,
            woken: Arc::clone(&self.0),
        }))
    }

    /// Hands over the numbers woken since the last call, in exchange for an empty list.
    pub fn swap(&self, taken: &mut VecDeque<usize>) {
        debug_assert!(taken.is_empty(), "numbers that were not looked at");
        let mut woken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut *woken, taken);
    }

    /// Whether no number was woken since then.
    pub fn is_empty(&self) -> bool {
        let woken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        woken.is_empty()
    }
}

/// The waker of one stream, which h2 stores. It may be woken from any thread; here it is always the
/// thread that polls, so that the lock is free.
struct Bell {
    number: usize,
    woken: Arc<Mutex<VecDeque<usize>>>,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut woken = self.woken.lock().unwrap_or_else(PoisonError::into_inner);
        // Head and body of one answer arrive one after the other.
        if woken.back() != Some(&self.number) {
            woken.push_back(self.number);
        }
    }
}

/// Whether a connection wants to be polled again.
#[derive(Debug, Default)]
pub(crate) struct Alarm(AtomicBool);

impl Alarm {
    pub(crate) fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}
