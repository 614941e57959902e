//! From a run folder to pages: text for a terminal, one self-contained HTML file, JSON.
//!
//! Everything but [`folder`] takes values and returns values: a page never looks at the machine
//! that it is rendered on, so a run reads the same on a laptop.

pub mod bench;
pub mod compare;
pub mod cores;
pub mod explain;
pub mod factorial;
pub mod folder;
pub mod html;
pub mod json;
pub mod link;
pub mod load;
pub mod markdown;
pub mod numbers;
pub mod streams;
pub mod text;

mod answer;
mod between_boots;
mod ceilings;
mod chart;
mod functions;
mod gate;
mod grouped;
mod machine_runs;
mod not_crossed;
mod rows;
mod scale;
mod sentences;
mod servers;
mod side_by_side;
mod usl;
mod view;
mod whole;

pub use between_boots::next_steps;
pub use functions::folded;

#[cfg(test)]
#[path = "../tests/sample/mod.rs"]
mod sample;
