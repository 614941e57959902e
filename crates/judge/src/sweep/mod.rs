//! What a sweep over levels of load says: the Universal Scalability Law and the knee, with
//! intervals from drawing blocks again.

mod draws;
mod knee;
mod least_squares;
mod run;
mod usl;

pub use knee::knee;
pub use run::judge_sweep;
pub use usl::{FEWEST_LEVELS, Usl, fit};

/// One level of load and what its blocks came to.
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
    /// Right answers per second.
    pub throughput_rps: f64,
    /// Mean time to an answer, in any unit that is the same throughout.
    pub response: f64,
}
