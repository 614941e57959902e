//! The whole machine's account of some runs of a command, in a reader's words.

use model::reading::MachineRuns;

use crate::numbers;
use crate::rows::MACHINE_PARTS;
use crate::view::Table;

/// A table with an account in each row, beside that of the row's process; those whose account is
/// hidden, and all of older runs, are left out.
pub(crate) fn table<'a>(
    first: &str,
    rows: impl IntoIterator<Item = (&'a str, Option<f64>, Option<&'a MachineRuns>)>,
) -> Table {
    let process = [
        first,
        "CPU time of the process",
        "whole machine, mean of a run",
    ];
    let headings = process.into_iter().chain(MACHINE_PARTS);
    let rows = rows.into_iter();
    let rows = rows.filter_map(|(title, process, found)| Some(cells(title, process, found?)));
    Table::of_texts(
        "CPU time of the process and of the whole machine",
        headings,
        rows,
    )
}

fn cells(title: &str, process: Option<f64>, found: &MachineRuns) -> Vec<String> {
    let each = found.each();
    let process = process.map_or_else(String::new, |ns| numbers::quantity(ns, "ns"));
    let parts = [
        each.busy_ns(),
        each.user_ns,
        each.system_ns,
        each.irq_ns,
        each.softirq_ns,
        each.stolen_ns,
    ];
    let parts = parts.map(|ns| numbers::quantity(ns as f64, "ns"));
    [title.to_owned(), process]
        .into_iter()
        .chain(parts)
        .collect()
}
