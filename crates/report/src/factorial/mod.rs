//! Factorial runs of commands in a reader's words: what every page of them says alike.

mod answer;
mod compare;
mod levels;
mod published;
mod reasons;
mod rows;
mod sentences;
mod text;
mod view;
mod words;

pub(crate) use answer::{sentence, size};
pub use compare::{commands_value, compare_commands};
pub(crate) use published::Row as PublishedRow;
pub(crate) use rows::{CellRows, cells, machine};
pub(crate) use sentences::{
    comparisons, design, interaction, lone_cells, mean, programs, trust, workload,
};
pub(crate) use text::is_short;
pub use text::render;
pub(crate) use view::{Cell, PREDICTED, View, figure_on};
pub(crate) use words::{Shown, after_comma};
