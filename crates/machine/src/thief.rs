//! Takes a part of the time of CPUs away from the programs that run there, to see what that
//! changes. No setting is changed for it, so nothing is left behind when it ends or dies.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use sys::clock;

/// Each thread spins for a part of such a period and sleeps for the rest. The period is short
/// beside what is measured.
const PERIOD: Duration = Duration::from_millis(10);

/// A thread on each CPU that spins for a part of each period. Dropping it detaches the threads,
/// which go on; [`Thief::end`] stops them.
#[derive(Debug)]
pub struct Thief {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<f64>>,
}

impl Thief {
    /// Begins to take a share of the time of each CPU, 0 to 1.
    pub fn begin(cpus: &[usize], take: f64) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let thread = |cpu: &usize| {
            let (cpu, is_over) = (*cpu, Arc::clone(&is_over));
            std::thread::spawn(move || steal(cpu, take, &is_over))
        };
        Self {
            threads: cpus.iter().map(thread).collect(),
            is_over,
        }
    }

    /// Stops, and returns the share of a CPU's time that was taken, on average over the CPUs, 0 to
    /// 1.
    pub fn end(self) -> f64 {
        self.is_over.store(true, Ordering::Relaxed);
        let count = self.threads.len().max(1) as f64;
        let taken = self
            .threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or(0.0));
        taken.sum::<f64>() / count
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "what is not taken is left to others"
)]
fn steal(cpu: usize, take: f64, is_over: &AtomicBool) -> f64 {
    if sys::cpu::pin(&[cpu]).is_err() {
        return 0.0;
    }
    // Without real-time priority we get what the scheduler gives us; the share we return is
    // measured, so it says so.
    let _ = sys::scheduling::go_first();
    let piece = PERIOD.mul_f64(take.clamp(0.0, 1.0));
    let begun_ns = clock::monotonic_ns();
    while !is_over.load(Ordering::Relaxed) {
        let begun_ns = clock::thread_cpu_ns();
        while u128::from(clock::thread_cpu_ns() - begun_ns) < piece.as_nanos() {}
        std::thread::sleep(PERIOD.saturating_sub(piece));
    }
    let lasted_ns = clock::monotonic_ns() - begun_ns;
    clock::thread_cpu_ns() as f64 / lasted_ns.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn about_as_much_is_taken_as_was_asked_for() {
        let cpu = sys::cpu::allowed().unwrap()[0];
        let thief = Thief::begin(&[cpu], 0.2);
        let begun_ns = clock::monotonic_ns();
        while clock::monotonic_ns() - begun_ns < 300_000_000 {}
        let taken = thief.end();
        assert!((0.02..0.5).contains(&taken), "{taken}");
    }
}
