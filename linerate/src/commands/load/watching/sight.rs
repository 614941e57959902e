//! What other threads can see of a load under way.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use sys::clock;
use traffic::load::{Live, Observer, SoFar};

/// What is known so far of one load, from its beginning to its end.
#[derive(Debug, Default)]
pub(super) struct Sight {
    pub(super) live: OnceLock<Arc<Live>>,
    pub(super) opened: OnceLock<Opened>,
    /// When the scored window closed, on the monotonic clock.
    pub(super) closed_ns: OnceLock<u64>,
    is_over: AtomicBool,
}

/// The opening of the scored window.
#[derive(Clone, Debug)]
pub(super) struct Opened {
    /// When it opened, on the monotonic clock.
    pub(super) at_ns: u64,
    /// When it opened, on the wall clock.
    pub(super) wall_ns: u64,
    /// What was counted before it opened.
    pub(super) before: SoFar,
}

impl Sight {
    /// Marks the load as over: nothing more will be counted.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
    }

    /// Whether the load is over, so that what is read from now on is complete.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }
}

/// Passes each event to another observer, and notes it in a [`Sight`].
pub(super) struct Showing<'a> {
    pub(super) observer: &'a mut dyn Observer,
    pub(super) sight: &'a Sight,
}

impl Observer for Showing<'_> {
    fn begins(&mut self, live: &Arc<Live>) {
        let _ = self.sight.live.set(Arc::clone(live));
        self.observer.begins(live);
    }

    fn is_connected(&mut self) {
        self.observer.is_connected();
    }

    fn window_opens(&mut self) {
        self.observer.window_opens();
        // Nothing of the window is counted yet.
        let before = self.sight.live.get().map(|live| SoFar {
            ledger: live.ledger(),
            ..SoFar::default()
        });
        let _ = self.sight.opened.set(Opened {
            at_ns: clock::monotonic_ns(),
            wall_ns: clock::wall_ns(),
            before: before.unwrap_or_default(),
        });
    }

    fn window_closes(&mut self) {
        let _ = self.sight.closed_ns.set(clock::monotonic_ns());
        self.observer.window_closes();
    }

    fn is_over(&self) -> bool {
        self.observer.is_over()
    }
}
