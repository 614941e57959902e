//! What is doubtful about the CPU times that are shown beside those of the whole machine.

use model::Doubt;

/// Returns the doubt that the CPU times of processes do not include interrupts here. To find out
/// takes a moment.
pub(super) fn doubt() -> Option<Doubt> {
    study::preflight::irq_time_doubt([&machine::facts::collect(false)])
}
