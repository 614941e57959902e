//! The whole machine's account of some runs of a command, in a reader's words.

use model::reading::MachineRuns;

use crate::numbers;
use crate::rows::MACHINE_PARTS;

/// Headings of a table with an account in each row, behind those of the row and its process.
pub(crate) fn headings(first: &str) -> Vec<&str> {
    let process = [
        first,
        "CPU time of the process",
        "whole machine, mean of a run",
    ];
    process.into_iter().chain(MACHINE_PARTS).collect()
}

/// A row of that table; `None` where the account is hidden, and in older runs.
pub(crate) fn cells(
    first: &str,
    process: Option<f64>,
    found: Option<&MachineRuns>,
) -> Option<Vec<String>> {
    let each = found?.each();
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
    Some(
        [first.to_owned(), process]
            .into_iter()
            .chain(parts)
            .collect(),
    )
}
