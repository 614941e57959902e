//! Other work on the machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Keeps CPUs busy until it is dropped.
pub(crate) struct Hogs(Arc<AtomicBool>);

impl Hogs {
    /// Starts as many hogs as there are CPUs, wherever the kernel puts them.
    pub(crate) fn start() -> Self {
        let allowed = sys::cpu::allowed().unwrap();
        Self::on(vec![allowed.clone(); allowed.len()])
    }

    /// Starts one hog on each of these sets of CPUs.
    pub(crate) fn on(places: Vec<Vec<usize>>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        for cpus in places {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || {
                sys::cpu::pin(&cpus).unwrap();
                while !stop.load(Ordering::Relaxed) {}
            });
        }
        Self(stop)
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
