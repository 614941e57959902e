//! The account of the whole machine that stands beside those of processes: all CPUs, of whatever
//! program, with what came upon idle ones.

use machine::instruments::cpu::CpuWatch;
use model::Doubt;
use model::reading::MachineCpu;
use traffic::load::Observer;

/// The doubt that CPU times of processes lack interrupts here; a look that takes a moment.
pub(super) fn doubt() -> Option<Doubt> {
    study::preflight::irq_time_doubt([&machine::facts::collect(false)])
}

/// Reads CPU times at the edges of a load's window, and lets a signal end the load early.
pub(super) struct Watched(pub(super) CpuWatch);

impl Watched {
    /// Those of some processes and of the machine.
    pub(super) fn new(pids: &[u32]) -> Self {
        Self(CpuWatch::new(pids))
    }

    /// What all CPUs did.
    pub(super) fn machine(&self, window_ns: u64) -> Option<MachineCpu> {
        self.0.counts(window_ns).machine
    }
}

impl Observer for Watched {
    fn window_opens(&mut self) {
        self.0.open();
    }

    fn window_closes(&mut self) {
        self.0.close();
    }

    fn is_over(&self) -> bool {
        sys::stop::heard().is_some()
    }
}
