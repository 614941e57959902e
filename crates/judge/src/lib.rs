//! Values to judgements: what a run's blocks say, with estimate, interval and verdict.
//!
//! Pure: no I/O, no clock, no randomness but what it is handed, so a run judged while it is measured and the same run
//! judged from its folder a year later come out alike. One file holds one statistic; `run` puts
//! them together. Differences are natural logarithms of ratios throughout, because effects on
//! rates and costs multiply.

pub mod bench;
pub mod capacity;
pub mod detectable;
pub mod holm;
pub mod looks;
pub mod median;
pub mod normal;
pub mod objective;
pub mod quantile;
pub mod sequential;
pub mod signed_rank;
pub mod student;
pub mod sweep;
pub mod verdict;
pub mod warmup;
pub mod welch;

mod arms;
mod boots;
mod commands;
mod doubts;
mod factorial;
mod failures;
mod ladder;
mod latency;
mod metric;
mod rounds;
mod rules;
mod run;
mod steps;
mod surroundings;

pub use bench::judge_bench;
pub use detectable::smallest_visible;
pub use factorial::{judge_commands, visible_to_plan};
pub use looks::{Looks, Progress};
pub use run::judge;
pub use verdict::{Direction, decide};
