//! What a campaign reports while it runs; the program decides how to show it.

use model::cpus::CpuShare;
use model::{Doubt, Facts};

/// Receives the progress of a campaign as it happens. By default each report is ignored.
pub trait Progress {
    /// Reports the facts of the machine.
    fn machine(&mut self, _facts: &Facts) {}
    /// Reports where the traffic runs, and whether levers may reach further. Not called for studies
    /// of commands.
    fn rig(&mut self, _rig: &model::run::Rig, _leave: model::lever::Leave) {}
    /// Reports which CPUs each side has.
    fn cpus(&mut self, _cpus: &CpuShare) {}
    /// Reports how small an effect the plan can see here, and how long it will take.
    fn outlook(&mut self, _outlook: &Outlook) {}
    /// Asks whether the machine may be loaded although it is busy, as these doubts say.
    fn may_load(&mut self, signs: &[Doubt]) -> bool;
    /// Reports a doubt that is known before the end.
    fn doubt(&mut self, _doubt: &Doubt) {}
    /// Reports that a stretch of work begins, such as `starting servers`.
    fn phase(&mut self, _what: &str) {}
    /// Reports that `done` of `planned` blocks are saved.
    fn block_saved(&mut self, _done: usize, _planned: usize, _left_ms: u64) {}
}

/// What is known before the first block.
#[derive(Clone, Debug, PartialEq)]
pub struct Outlook {
    /// Title of the compared metric, for a reader.
    pub outcome: String,
    /// The smallest effect that can be seen, as a share; `None` if the rehearsal had too few
    /// values, or the rounds are too few for a verdict.
    pub expected_visible: Option<f64>,
    pub sought: f64,
    pub rounds: u32,
    /// Fewest rounds for a verdict, count.
    pub fewest_rounds: u32,
    pub planned_ms: u64,
}
