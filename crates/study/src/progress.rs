//! What a campaign says while it runs; the program decides how to show it.

use model::cpus::CpuShare;
use model::{Doubt, Facts};

/// Told of each stretch of a campaign as it happens; what nobody listens to says nothing.
pub trait Progress {
    /// The machine is known.
    fn machine(&mut self, _facts: &Facts) {}
    /// Where the traffic runs is known, and whether levers may reach further; commands have none.
    fn rig(&mut self, _rig: &model::run::Rig, _leave: model::lever::Leave) {}
    /// Known is which CPUs each side has.
    fn cpus(&mut self, _cpus: &CpuShare) {}
    /// What the plan can see here, and how long it will take.
    fn outlook(&mut self, _outlook: &Outlook) {}
    /// The machine is at work, as these doubts say: may it be loaded all the same?
    fn may_load(&mut self, signs: &[Doubt]) -> bool;
    /// Something doubtful is known already.
    fn doubt(&mut self, _doubt: &Doubt) {}
    /// A stretch of work has begun, such as `starting servers`.
    fn phase(&mut self, _what: &str) {}
    /// `done` of `planned` blocks are saved.
    fn block_saved(&mut self, _done: usize, _planned: usize, _left_ms: u64) {}
}

/// What is known before the first block.
#[derive(Clone, Debug, PartialEq)]
pub struct Outlook {
    /// What is compared, for a reader.
    pub outcome: String,
    /// As a share; `None` where the rehearsal gave too little, or the rounds are too few for a verdict.
    pub expected_visible: Option<f64>,
    pub sought: f64,
    pub rounds: u32,
    /// Rounds that a verdict takes, count.
    pub fewest_rounds: u32,
    pub planned_ms: u64,
}
