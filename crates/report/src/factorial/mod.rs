//! Factorial runs of commands in a reader's words, shared by all pages about them.

mod answer;
mod levels;
mod page;
mod published;
mod reasons;
mod sentences;
mod told;
mod view;
mod words;

use model::command_run::{CommandRun, Evidence};
use model::judgement::FactorialJudgement;

use crate::text;

pub(crate) use page::page;
pub(crate) use sentences::{design, programs, workload};
pub(crate) use told::size;
pub(crate) use view::{Cell, PREDICTED, View, figure_on};

/// Renders a judged run of commands for a terminal of `width` columns, with or without colour.
pub fn render(
    run: &CommandRun,
    judgement: &FactorialJudgement,
    evidence: &Evidence,
    width: usize,
    colour: bool,
) -> String {
    let page = page(View { run, judgement }, &[], evidence);
    text::laid_out(page, width, colour)
}
