//! What is doubtful about the CPU times that stand beside those of the whole machine.

use model::Doubt;

/// The doubt that CPU times of processes lack interrupts here; a look that takes a moment.
pub(super) fn doubt() -> Option<Doubt> {
    study::preflight::irq_time_doubt([&machine::facts::collect(false)])
}
