//! Other work on the machine, as much as there are CPUs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Keeps every CPU busy until it is dropped.
pub(crate) struct Hogs(Arc<AtomicBool>);

impl Hogs {
    pub(crate) fn start() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        for _ in 0..std::thread::available_parallelism().unwrap().get() {
            let stop = Arc::clone(&stop);
            let spin = move || while !stop.load(Ordering::Relaxed) {};
            std::thread::spawn(spin);
        }
        Self(stop)
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
