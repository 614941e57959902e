//! Comparing commands: from an order to a plan, and the plan run round by round.

pub mod drive;
pub mod parameters;
pub mod plan;

pub use drive::{BenchProgress, Ending, RunsCommands, run};
pub use parameters::Parameter;
pub use plan::{BenchOrder, USUAL_ROUNDS, words};
