//! Turns values into judgements: what a run's blocks say, with estimate, interval and verdict.
//!
//! The crate is pure: no I/O, no clock, and no randomness except what it is given. So a run that is
//! judged while it is measured and the same run judged from its folder a year later come out alike.
//! One file holds one statistic; `run` puts them together. Differences are natural logarithms of
//! ratios throughout, because effects on rates and costs multiply.

pub mod bench;
pub mod capacity;
pub mod credit;
pub mod detectable;
mod gate;
pub mod holm;
pub mod median;
pub mod objective;
pub mod quantile;
pub mod sequential;
pub mod signed_rank;
pub mod stream;
pub mod student;
pub mod sweep;
pub mod verdict;
pub mod warmup;
pub mod welch;

mod arms;
mod boots;
mod ceilings;
mod commands;
mod contrast;
pub mod cores;
mod cpu_used;
mod doubts;
mod factorial;
mod failures;
mod family;
mod ladder;
mod lasting;
mod latency;
mod limiter;
pub mod looks;
mod metric;
mod phase;
mod plateaus;
mod rounds;
mod rules;
mod run;
mod scale;
mod square;
mod steps;
mod streams;
mod surroundings;
mod values;

pub use bench::judge_bench;
pub use ceilings::answer_demand;
pub use detectable::smallest_visible;
pub use factorial::{fewest_rounds_of_plan, judge_commands, visible_to_plan};
pub use limiter::{explain, explain_look, leads_to};
pub use rules::{QUICK_PAIRS, fewest_pairs};
pub use run::{judge, rounds_in_time, settled_rounds};
pub use streams::judge_streams;
pub use verdict::{Direction, decide};

/// Converts a number of things, of which there are never too many for a `u32`.
fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
