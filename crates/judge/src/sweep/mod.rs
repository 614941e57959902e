//! What a sweep over levels of load shows: the Universal Scalability Law and the knee, with
//! intervals from resampled blocks.

mod draws;
mod knee;
mod least_squares;
mod run;
mod usl;

pub use knee::knee;
pub use run::judge_sweep;
pub use usl::{FEWEST_LEVELS, Usl, fit};

/// One level of load and the blocks measured at it.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// Connections, or requests/s offered: above 0.
    pub load: f64,
    /// At least one, each above 0.
    pub blocks: Vec<Block>,
}

/// One block at a level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    /// Correct answers per second.
    pub throughput_rps: f64,
    /// Mean time to an answer, in one unit for all blocks.
    pub response: f64,
}
